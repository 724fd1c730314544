// Package archive is the format of an export: executions with their events,
// steps and approvals as JSON lines, which can be read and checked without a
// server.
//
// A file is a run of sections, one an execution, each whole or not there:
//
//	{"kind":"execution","schema":"v0","execution":{…}}
//	{"kind":"event","event":{…}}              … in order, from 1 without a gap
//	{"kind":"step","step":{…}}                … in the order of proposal
//	{"kind":"approval","approval":{…}}
//	{"kind":"end","execution_id":"…","events":48,"steps":7,"approvals":1,"sha256":"…"}
//
// The digest is of all lines of the section before its end, line breaks
// included. Between sections there may be marks of how far the export got, and
// the last line is one; an empty cursor says that the export is complete:
//
//	{"kind":"cursor","next_cursor":"…"}
//
// Unknown kinds are skipped, so that a file can say more one day. The values
// are the API's own objects.
//
// It imports package wire and the standard library only.
package archive
