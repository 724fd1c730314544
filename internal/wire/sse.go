package wire

import "bytes"

// Frame is one message of a stream of Server-Sent Events.
type Frame struct {
	ID    string // empty: none
	Event string // empty: "message"
	Data  []byte // lines are joined by \n
}

// AppendFrame appends the frame as it goes over the wire, the closing empty
// line included. Line breaks in Data become several data lines, so a reader
// gets \r and \r\n back as \n; line breaks and NULs in ID and Event are left
// out, for they could forge a frame.
func AppendFrame(dst []byte, f Frame) []byte {
	if f.ID != "" {
		dst = append(appendOneLine(append(dst, "id: "...), f.ID), '\n')
	}
	if f.Event != "" {
		dst = append(appendOneLine(append(dst, "event: "...), f.Event), '\n')
	}
	for rest, more := f.Data, true; more; {
		var line []byte
		line, rest, more = cutLine(rest)
		dst = append(append(append(dst, "data: "...), line...), '\n')
	}
	return append(dst, '\n')
}

// AppendComment appends a comment, which readers skip: it keeps a quiet
// connection from looking dead.
func AppendComment(dst []byte, text string) []byte {
	return append(appendOneLine(append(dst, ": "...), text), "\n\n"...)
}

func appendOneLine(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c != '\n' && c != '\r' && c != 0 {
			dst = append(dst, c)
		}
	}
	return dst
}

// cutLine splits at the first \n, \r\n or \r; more is false on the last line.
func cutLine(b []byte) (line, rest []byte, more bool) {
	i := bytes.IndexAny(b, "\r\n")
	if i < 0 {
		return b, nil, false
	}
	n := i + 1
	if b[i] == '\r' && n < len(b) && b[n] == '\n' {
		n++
	}
	return b[:i], b[n:], true
}
