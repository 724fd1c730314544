package torture

import (
	"strconv"
	"syscall"
)

// mountSmallDisk mounts a file system of so many bytes at a folder.
func mountSmallDisk(folder string, size int64) (unmount func() error, err error) {
	if err := syscall.Mount("tmpfs", folder, "tmpfs", 0, "size="+strconv.FormatInt(size, 10)); err != nil {
		return nil, err
	}
	return func() error { return syscall.Unmount(folder, 0) }, nil
}
