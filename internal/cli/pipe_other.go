//go:build !windows

package cli

// isBrokenPipe has nothing to know beside EPIPE here.
func isBrokenPipe(error) bool { return false }
