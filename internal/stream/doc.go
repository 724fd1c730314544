// Package stream is the live hub: what agents publish while a step runs, and
// what was committed, to whoever listens right now. It never blocks who
// publishes: a subscriber that falls behind loses, and is told.
//
// It starts no goroutine and keeps nothing: the log is the store's.
package stream
