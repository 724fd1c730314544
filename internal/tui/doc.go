// Package tui is the dashboard: an approval inbox and an explorer of executions
// in a terminal.
//
// One [Model] holds everything that is shown; only its Update writes to it, and
// neither Update nor View blocks, locks or talks to the service. Reads and
// decisions are commands with a context; the live feed and the tails of an open
// execution are goroutines that [Run] starts and waits for. They merge what they
// hear into at most ten messages a second. Answers carry the generation of the
// question, so a late one is dropped.
//
// All text of others (arguments, names, reasons) passes text.Clean before it is
// drawn. View returns exactly as many lines as the terminal has.
//
// It uses packages client and wire to talk, and package cli for its commands.
package tui
