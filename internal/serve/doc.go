// Package serve holds the commands that run a server: serve, dev and the agent
// process of the tour. They turn settings into a daemon and wait for it.
package serve
