// Package canonjson reads JSON strictly and writes it in one canonical form.
//
// Strict: RFC 8259, and beyond it no invalid UTF-8, no duplicate
// member names, no unpaired surrogate escapes and at most [MaxDepth] levels, so
// that two readers of one body can never see two different values.
//
// Canonical: object members sorted by the UTF-16 code units of
// their names, no white space, strings escaped as RFC 8785 does. Unlike RFC
// 8785, numbers stay digit for digit as sent: nothing is rounded.
//
// A "checked" value below is one that [Check] or [Append] has accepted, or a
// part of one. Functions on checked values do not validate again; given
// anything else they return nonsense, but they never read out of bounds.
//
// The package is a leaf: it imports the standard library only. It keeps no
// state and starts no goroutine.
package canonjson
