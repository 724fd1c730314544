// Package server is the HTTP face of the service: routes, credentials, strict
// decoding, the error table, Server-Sent Events. It translates between
// internal/wire and the engine and decides nothing itself.
//
// Every route is one row of the table in routes.go, which the router, the tests
// and the check against docs/openapi.yaml all walk.
package server
