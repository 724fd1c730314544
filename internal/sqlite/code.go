package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
)

// Primary result codes of SQLite (https://www.sqlite.org/rescode.html).
const (
	codeError      = 1
	codePerm       = 3
	codeBusy       = 5
	codeLocked     = 6
	codeNoMem      = 7
	codeReadOnly   = 8
	codeIOErr      = 10
	codeCorrupt    = 11
	codeFull       = 13
	codeCantOpen   = 14
	codeConstraint = 19
	codeNotADB     = 26

	codeReadOnlyRollback = codeReadOnly | 3<<8 // a journal is to be rolled back, by somebody who may write
)

// code is the result code behind err; 0 when it is not SQLite's.
func code(err error) int {
	var e interface {
		error
		Code() int // of *sqlite.Error
	}
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

// fatal reports whether the database cannot be trusted after err: an IO error
// (what a failed fsync left on the disk is unknown; it is never retried), or
// damage. Serving on would risk wrong answers.
func fatal(err error) bool {
	switch code(err) & 0xff {
	case codeIOErr, codeCorrupt, codeNotADB:
		return true
	}
	return false
}

// explain adds what an operator can do to the errors that SQLite gives.
func explain(err error) error {
	switch code(err) & 0xff {
	case codeFull:
		return fmt.Errorf("the disk is full: free some space: %w", err)
	case codeReadOnly, codeCantOpen, codePerm:
		return fmt.Errorf("the database file or its folder cannot be written: check owner, mode and mount: %w", err)
	case codeError: // our statements fit our tables
		return fmt.Errorf("the tables in the file are not those that this build makes, so it is damaged: keep it, and restore a backup: %w", err)
	case codeCorrupt, codeNotADB:
		return fmt.Errorf("the file is damaged or no database: keep it, and restore a backup: %w", err)
	case codeBusy, codeLocked:
		return fmt.Errorf("another program holds the database: %w", err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the database file or its folder cannot be used: check owner and mode: %w", err)
	}
	return err
}
