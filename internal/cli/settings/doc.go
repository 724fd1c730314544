// Package settings finds out where the command line is to go and how it is to
// behave: flags over environment over the context of the configuration file
// over defaults, with the origin of each value at hand.
//
// Contexts are a list in the file, and nothing of the environment is read but
// the names of the table below. The token of a context goes to the server of
// that context only.
//
// It imports viper, yaml and the standard library.
package settings
