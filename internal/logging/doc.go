// Package logging sets up the service's structured log, keeps credentials out
// of it, and holds the [Journal]: what an operator wants to read of what was
// committed.
//
// It imports kernel, store and the standard library, and starts no goroutine:
// package daemon runs [Journal.Run].
package logging
