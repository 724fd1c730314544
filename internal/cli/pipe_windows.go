package cli

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isBrokenPipe knows the errors of a pipe whose reader has left.
func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}
