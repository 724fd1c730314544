//go:build !linux

package bench

import "os"

// flush makes what was written to f durable.
func flush(f *os.File) error { return f.Sync() }
