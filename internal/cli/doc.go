// Package cli is the command line: one file a noun, and around it what all
// commands share: flags, settings, output, questions, errors, exit codes.
//
// A command gets everything from the factory that it was built with; there are
// no globals, and nothing here ends the process. A command returns an error;
// Run prints it and gives the exit code, in one place.
//
// Commands of other packages (the server, the dashboard) come in through
// [Options]: this package imports neither the server nor the store.
package cli
