package sqlite

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// BackupOptions tune a [Backup]; the zero value is right.
type BackupOptions struct {
	Force bool // replace a file that is there already
}

// BackupInfo describes a finished backup.
type BackupInfo struct {
	Path   string // absolute
	Size   int64
	SHA256 kernel.Digest // of the file
}

// ErrExists says that there is a file already where one was to be made.
var ErrExists = errors.New("the file exists already")

// Backup writes a copy of the database file at source to dest: one snapshot,
// compacted, checked and on the disk before it gets its name, so that dest is a
// whole backup or none. It takes no lock and may run beside a server, in any
// process; while it runs, the write-ahead log of a live file grows. The copy is
// readable by its owner alone: it holds the secrets of the agents.
func Backup(ctx context.Context, source, dest string, opts BackupOptions) (info BackupInfo, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("back up %s to %s: %w", source, dest, explain(err))
		}
	}()
	if info.Path, err = filepath.Abs(dest); err != nil {
		return info, err
	}
	if err := mayReplace(source, info.Path, opts); err != nil {
		return info, err
	}
	tmp, err := os.CreateTemp(filepath.Dir(info.Path), filepath.Base(info.Path)+".*.part") // has mode 0600
	if err != nil {
		return info, err
	}
	defer func() {
		// Renamed when all went well.
		if e := os.Remove(tmp.Name()); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}()
	if err := errors.Join(tmp.Close(), copySnapshot(ctx, source, tmp.Name()), checkCopy(ctx, tmp.Name())); err != nil {
		return info, err
	}
	if info.Size, info.SHA256, err = seal(tmp.Name()); err != nil {
		return info, err
	}
	if err := place(tmp.Name(), info.Path, opts); err != nil {
		return info, err
	}
	return info, syncFolder(filepath.Dir(info.Path))
}

// mayReplace refuses to overwrite anything unless that is wanted, and the
// source in any case.
func mayReplace(source, dest string, opts BackupOptions) error {
	to, err := os.Lstat(dest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if from, err := os.Stat(source); err == nil && os.SameFile(from, to) {
		return errors.New("a file cannot be its own backup")
	}
	if !to.Mode().IsRegular() {
		return errors.New("it is no regular file: name a file")
	}
	if !opts.Force {
		return ErrExists
	}
	return nil
}

// copySnapshot runs on a connection of its own, which reads the source only.
func copySnapshot(ctx context.Context, source, dest string) error {
	db, err := openForInspection(ctx, source)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", dest)
	return errors.Join(err, db.Close())
}

func checkCopy(ctx context.Context, path string) error {
	db, err := openForInspection(ctx, path)
	if err != nil {
		return err
	}
	var wrong []error
	err = integrity(ctx, db, func(text string) { wrong = append(wrong, errors.New(text)) })
	if len(wrong) > 0 {
		err = fmt.Errorf("the copy is damaged, as its source must be: %w", errors.Join(wrong...))
	}
	return errors.Join(err, db.Close())
}

// integrity is SQLite's own view of a file: its pages, indexes and types.
func integrity(ctx context.Context, db interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, wrong func(text string),
) error {
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check")
	if err != nil {
		return err
	}
	return each(rows, func(row scanner) error {
		var text string
		if err := row.Scan(&text); err != nil {
			return err
		}
		if text != "ok" {
			wrong(text)
		}
		return nil
	})
}

// seal flushes a finished file and sums it up.
func seal(path string) (size int64, sum kernel.Digest, err error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return 0, sum, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return 0, sum, err
	}
	h := sha256.New()
	if size, err = io.Copy(h, f); err != nil {
		return 0, sum, err
	}
	h.Sum(sum[:0])
	return size, sum, nil
}

// place gives the file its name. Without force, a file that came there
// meanwhile stays: a link is refused where a rename would replace it.
func place(tmp, dest string, opts BackupOptions) error {
	if opts.Force {
		return os.Rename(tmp, dest)
	}
	err := os.Link(tmp, dest)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return ErrExists
	}
	return os.Rename(tmp, dest) // a file system without links
}

func syncFolder(path string) error {
	if runtime.GOOS == "windows" { // folders cannot be flushed there
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
