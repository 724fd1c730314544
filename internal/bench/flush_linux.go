package bench

import (
	"os"
	"syscall"
)

// flush makes what was written to f durable, as SQLite does it here.
func flush(f *os.File) error { return syscall.Fdatasync(int(f.Fd())) }
