// Command tour records the tour of the dashboard that the README shows: it runs
// `kernelctl dev --ui` in a terminal of tmux, presses keys, captures what is on
// the screen, and writes an asciicast, an animated SVG, and an SVG of each
// screen.
//
//	go run ./scripts/tour -out docs/tour
//
// It needs tmux, and the address of -listen to be free.
package main
