// Package daemontest runs a whole service for tests: a real daemon on a
// temporary file and a port of its own, agents that do over real HTTP what the
// test says, and calls that are sent exactly as written. It imports the daemon
// and the wire; only tests import it. Whatever it starts ends with the test.
package daemontest
