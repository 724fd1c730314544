//go:build !linux

package torture

import "errors"

// mountSmallDisk mounts a file system of so many bytes at a folder.
func mountSmallDisk(string, int64) (unmount func() error, err error) {
	return nil, errors.ErrUnsupported
}
