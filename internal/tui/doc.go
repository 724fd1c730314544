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
// Editors, pagers and programs for the clipboard are run as the person's own:
// with the terminal itself, and ended with the dashboard. What is remembered and
// the log of errors are files of the state directory; the log has a goroutine of
// its own, which [Run] ends last.
//
// It uses packages client and wire to talk, package policy to check a draft, and
// package cli for its commands.
package tui
