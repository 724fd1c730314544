// Package sqlite is the embedded store: one file, one writer, a pool of
// readers, pure Go.
//
// The writer is the single goroutine behind [DB.Run]. It takes the closures of
// all requests that wait, runs them inside one transaction, commits once
// (WAL, synchronous=FULL) and answers all of them: the commit under way is the
// window in which the next batch gathers. Executions that were touched stay
// folded in memory, which is always right because nobody else writes; a file
// lock keeps it so. Reads never meet the writer.
//
// [Verify] checks a file against its own log and [Backup] copies it; both look
// at one snapshot, need no lock and work beside a server.
//
// It must not import anything above the store port.
package sqlite
