package archive

import (
	"errors"
	"io"
)

// Progress is how far an export got.
type Progress struct {
	Bytes    int64  // that its whole pages take; what follows them is the beginning of another
	Cursor   string // of the next page
	Complete bool   // there is no next page
}

// Scan reads an export that may have been cut short. The error is a [*Problem]
// when it is damaged before its last mark, or when its first line is none of an
// export: what Scan accepts can be cut to its whole pages and gone on with.
func Scan(in io.Reader) (Progress, error) {
	var p Progress
	var damage *Problem // since the last mark
	for r := NewReader(in); ; {
		_, err := r.Next()
		if r.mark > p.Bytes {
			if damage != nil {
				return p, damage
			}
			p = Progress{Bytes: r.mark, Cursor: r.cursor, Complete: r.cursor == ""}
		}
		problem := (*Problem)(nil)
		switch {
		case errors.Is(err, io.EOF):
			return p, nil
		case errors.As(err, &problem):
			if problem.Line == 1 {
				return p, problem
			}
			if damage == nil {
				damage = problem
			}
		case err != nil:
			return p, err
		}
	}
}
