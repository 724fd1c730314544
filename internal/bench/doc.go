// Package bench measures a server from outside, as an agent and a client meet
// it: throughput, latencies, what a step costs in CPU and on the disk, and how
// that holds up as history, load and readers grow. Beside it the machine's own
// limits (flushes of a file, bare HTTP) are taken in the same run, because only
// the ratio of two figures of one run says something about the server.
//
// The server is a process of its own, of the same binary unless an address is
// given, so that what it uses is measured alone. The load is raw HTTP/1.1 over
// lasting connections: it costs a tenth of what net/http would, and the two
// share the machine.
//
// It knows the wire and nothing below it: it must not import the parts of the
// server. Goroutines belong to the scenario that starts them and end with it.
package bench
