// Package wire is what the outside sees of the service: the JSON shapes of
// every route, header names, error codes, request signatures and the framing of
// Server-Sent Events. Server, client and tests share it, so that each name is
// spelled once.
//
// It knows no rules: package server translates between wire and kernel, which
// never import each other. It imports the standard library only and starts no
// goroutine.
//
// JSON values of any kind are [encoding/json.RawMessage] and are kept as they
// were sent. In a response a nil RawMessage is null, unless its field is
// omitted when empty. Use [Marshal] and not json.Marshal, which would rewrite
// the <, > and & inside of them.
package wire
