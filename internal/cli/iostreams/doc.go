// Package iostreams is the terminal side of the command line: which of the
// three streams is a terminal, how wide it is, whether to colour, and when a
// person may be asked.
//
// stdout is for data only; notes, prompts, the spinner and errors go to stderr.
// Tests override all of it: KERNELCTL_FORCE_TTY=120 makes the three streams a
// terminal of 120 columns.
//
// It imports the standard library, x/sys and isatty only. The goroutine of a
// spinner ends with its stop function; one that reads an answer may outlive a
// cancelled question, because a read of stdin cannot be interrupted.
package iostreams
