// Package printer writes what a command found to stdout: as a table for a
// person, as tab-separated values for a pipe, as JSON, YAML, names or through a
// template for a program.
//
// One [View] a type feeds table, wide, tab-separated values and names; JSON and
// what is made of it go around it and show the object as the API does.
//
// Everything that is printed for a person is made harmless first: what an agent
// sends is hostile text, and must not repaint the screen or hide what is being
// approved.
//
// It imports the standard library, x/text, yaml and package wire only.
package printer
