package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// DefaultMaxFrameBytes bounds a frame that a [Scanner] reads, unless it is told
// otherwise. The largest body of a request fits twice and more.
const DefaultMaxFrameBytes = 16 << 20

// ErrFrameTooLarge means that a line or a frame is longer than the scanner's limit.
var ErrFrameTooLarge = errors.New("frame is too large")

// Scanner reads a stream of Server-Sent Events as the HTML standard says
// (§9.2.6): comments and unknown fields are skipped, data lines are joined, a
// frame without data is not a message, and what a broken stream leaves of its
// last frame is dropped.
//
// A Scanner is for one goroutine.
type Scanner struct {
	r      *bufio.Reader
	max    int
	line   []byte // the line being read
	id     []byte // of the frame being read
	event  []byte
	data   []byte
	frame  Frame
	lastID string
	err    error
	hasID  bool
	begun  bool // past the byte order mark
	skipLF bool // the last line ended in \r: a \n that follows belongs to it
}

// NewScanner reads from r. No line and no frame may be longer than maxBytes;
// zero means [DefaultMaxFrameBytes].
func NewScanner(r io.Reader, maxBytes int) *Scanner {
	if maxBytes <= 0 {
		maxBytes = DefaultMaxFrameBytes
	}
	return &Scanner{r: bufio.NewReader(r), max: maxBytes}
}

// Scan advances to the next message; false means the end of the stream or an
// error, see [Scanner.Err].
func (s *Scanner) Scan() bool {
	for s.err == nil {
		if s.err = s.readLine(); s.err != nil {
			break
		}
		if len(s.line) > 0 {
			s.err = s.field()
			continue
		}
		if s.dispatch() {
			return true
		}
	}
	s.frame = Frame{}
	return false
}

// Frame is the message that [Scanner.Scan] found. Its ID is the one sent with
// it, if any. Data is valid until the next Scan.
func (s *Scanner) Frame() Frame { return s.frame }

// LastID is the id last seen in the stream: what to go on from, as the header
// Last-Event-ID.
func (s *Scanner) LastID() string { return s.lastID }

// Err is what ended the stream; nil when it ended by itself.
func (s *Scanner) Err() error {
	if errors.Is(s.err, io.EOF) {
		return nil
	}
	return s.err
}

// readLine puts the next complete line into s.line, without its end. It never
// waits for more than the line's own end: a reader of a live stream must see a
// message when it is there.
func (s *Scanner) readLine() error {
	s.line = s.line[:0]
	for {
		if _, err := s.r.Peek(1); err != nil {
			return err // an unfinished line is dropped
		}
		chunk, _ := s.r.Peek(s.r.Buffered())
		if s.skipLF {
			s.skipLF = false
			if chunk[0] == '\n' {
				s.discard(1)
				continue
			}
		}
		end := bytes.IndexAny(chunk, "\r\n")
		take := end
		if end < 0 {
			take = len(chunk)
		}
		if len(s.line)+take > s.max {
			return fmt.Errorf("read stream: line of more than %d bytes: %w", s.max, ErrFrameTooLarge)
		}
		s.line = append(s.line, chunk[:take]...)
		if end < 0 {
			s.discard(take)
			continue
		}
		s.skipLF = chunk[end] == '\r'
		s.discard(end + 1)
		s.trimByteOrderMark()
		return nil
	}
}

// discard drops n buffered bytes, which cannot fail.
func (s *Scanner) discard(n int) { _, _ = s.r.Discard(n) }

func (s *Scanner) trimByteOrderMark() {
	if !s.begun {
		s.line = bytes.TrimPrefix(s.line, []byte("\uFEFF"))
	}
	s.begun = true
}

// field takes one line of the frame being read.
func (s *Scanner) field() error {
	name, value, _ := bytes.Cut(s.line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) { // a comment has the empty name
	case "data":
		if len(s.data)+len(value) > s.max {
			return fmt.Errorf("read stream: frame of more than %d bytes: %w", s.max, ErrFrameTooLarge)
		}
		s.data = append(append(s.data, value...), '\n')
	case "event":
		s.event = append(s.event[:0], value...)
	case "id":
		if !bytes.ContainsRune(value, 0) {
			s.id, s.hasID = append(s.id[:0], value...), true
		}
	}
	return nil
}

// dispatch ends the frame being read, and reports whether it is a message.
func (s *Scanner) dispatch() bool {
	s.frame = Frame{Event: string(s.event)}
	if s.hasID {
		s.frame.ID = string(s.id)
		s.lastID = s.frame.ID
	}
	data := s.data
	s.id, s.event, s.data, s.hasID = s.id[:0], s.event[:0], s.data[:0], false
	if len(data) == 0 {
		return false
	}
	s.frame.Data = data[:len(data)-1]
	return true
}
