package archive

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Problem is something that is wrong with an export.
type Problem struct {
	Line    int // from 1
	Problem string
}

// Error names the line.
func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Problem) }

// Reader reads an export, one section at a time.
type Reader struct {
	r      *bufio.Reader
	n      int
	at     int64 // bytes that were read
	sum    hash.Hash
	cursor string
	mark   int64
	ends   bool  // the file may end here: a mark says how far the export got, or what follows was reported
	unread *line // the beginning of the next section, when the last one had no end
	raw    []byte
}

// NewReader reads from r.
func NewReader(r io.Reader) *Reader {
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), sum: sha256.New()}
}

// Cursor is where the export goes on by the last mark that was read; empty when
// it is complete, or when there is none.
func (r *Reader) Cursor() string { return r.cursor }

// Mark is how many bytes of the file the last mark and all before it take; 0
// when there is none. What follows it belongs to a page that is not complete.
func (r *Reader) Mark() int64 { return r.mark }

// Next is the next section. The error is [io.EOF] at the end of the file, and
// a [*Problem] when the section is not as the format wants it, or when there is
// no mark at the end; reading may go on then, with what is after it.
func (r *Reader) Next() (*Section, error) {
	s, err := r.section()
	if errors.Is(err, io.EOF) && !r.ends {
		err = &Problem{r.n, "the export was cut short: no mark says how far it got"}
	}
	r.ends = err != nil
	return s, err
}

func (r *Reader) section() (*Section, error) {
	first, err := r.begin()
	if err != nil {
		return nil, err
	}
	s := &Section{Line: r.n}
	r.sum.Reset()
	r.sum.Write(r.raw)
	if err := json.Unmarshal(first.Execution, &s.Execution); err != nil {
		return nil, &Problem{r.n, "the execution cannot be read: " + err.Error()}
	}
	for {
		l, err := r.line()
		switch {
		case errors.Is(err, io.EOF):
			return nil, &Problem{r.n, "the file ends in the middle of execution " + s.Execution.ID}
		case err != nil:
			return nil, err
		case l.Kind == KindExecution:
			r.unread = l
			return nil, &Problem{s.Line, "execution " + s.Execution.ID + " has no end"}
		case l.Kind == KindEnd:
			return s, r.end(s, l)
		}
		r.sum.Write(r.raw)
		if err := r.add(s, l); err != nil {
			return nil, err
		}
	}
}

// begin skips to the beginning of the next section.
func (r *Reader) begin() (*line, error) {
	for {
		l := r.unread
		r.unread = nil
		if l == nil {
			var err error
			if l, err = r.line(); err != nil {
				return nil, err
			}
		}
		switch l.Kind {
		case KindExecution:
			if l.Schema != Schema {
				return nil, &Problem{r.n, fmt.Sprintf("the schema is %q, and only %s is known", l.Schema, Schema)}
			}
			return l, nil
		case KindCursor:
			if l.NextCursor != nil && bytes.HasSuffix(r.raw, []byte("\n")) { // else it was cut
				r.cursor, r.mark, r.ends = *l.NextCursor, r.at, true
			}
		case KindEvent, KindStep, KindApproval, KindEnd:
			return nil, &Problem{r.n, "a line of kind " + string(l.Kind) + " stands outside of an execution"}
		}
	}
}

func (r *Reader) add(s *Section, l *line) (err error) {
	switch l.Kind {
	case KindEvent:
		s.Events, err = grow(s.Events, l.Event)
	case KindStep:
		s.Steps, err = grow(s.Steps, l.Step)
	case KindApproval:
		s.Approvals, err = grow(s.Approvals, l.Approval)
	case KindExecution, KindEnd, KindCursor:
	}
	if err != nil {
		return &Problem{r.n, fmt.Sprintf("the %s cannot be read: %v", l.Kind, err)}
	}
	return nil
}

func grow[T any](all []T, raw []byte) ([]T, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return append(all, v), err
}

func (r *Reader) end(s *Section, l *line) error {
	sum := hex.EncodeToString(r.sum.Sum(nil))
	id := s.Execution.ID
	switch {
	case l.ExecutionID != id:
		return &Problem{r.n, "the end of " + l.ExecutionID + " stands behind execution " + id}
	case l.SHA256 != sum:
		return &Problem{r.n, "execution " + id + " was changed: its digest is " + sum + ", the file says " + l.SHA256}
	case !count(l.Events, len(s.Events)) || !count(l.Steps, len(s.Steps)) || !count(l.Approvals, len(s.Approvals)):
		return &Problem{r.n, "execution " + id + " is not complete"}
	}
	return nil
}

func count(want *int, got int) bool { return want != nil && *want == got }

// line reads the next line that is not empty.
func (r *Reader) line() (*line, error) {
	for {
		raw, err := r.r.ReadBytes('\n')
		if len(raw) == 0 && err != nil {
			return nil, err
		}
		r.n++
		r.at += int64(len(raw))
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		l := &line{}
		if err := json.Unmarshal(raw, l); err != nil {
			return nil, &Problem{r.n, "not a line of an export: " + err.Error()}
		}
		r.raw = raw
		return l, nil
	}
}
