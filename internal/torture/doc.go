// Package torture proves crash safety on the real binary. It runs `serve` as a
// child process under a load of its own, notes every write that was
// acknowledged, kills the server with SIGKILL at moments drawn from a seed, and
// holds what the next start shows, and the file itself, against what it noted.
// It fills a small disk the same way, and can let the load run for hours
// without a kill, to see whether anything grows.
//
// It imports the client, the wire and the store's check of a file, and nothing
// of the server: what it judges is what a user would see. Every goroutine is
// started and awaited by [Run], [Soak] or [FillDisk].
package torture
