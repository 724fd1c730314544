package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// writeCast writes shots as an asciicast of version 2: a header, then output of
// a terminal with its time in seconds. A frame is written as what differs from
// the one before; captions are markers.
func writeCast(w io.Writer, columns, rows int, title string, shots []shot) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	header := struct {
		Version int               `json:"version"`
		Width   int               `json:"width"`
		Height  int               `json:"height"`
		Title   string            `json:"title"`
		Env     map[string]string `json:"env"`
	}{2, columns, rows, title, map[string]string{"TERM": "xterm-256color"}}
	if err := enc.Encode(header); err != nil {
		return err
	}
	var before frame
	var at time.Duration
	var said caption
	for _, s := range shots {
		if s.caption != said {
			if err := enc.Encode([]any{at.Seconds(), "m", strings.TrimSpace(s.key + "  " + s.said)}); err != nil {
				return err
			}
		}
		said = s.caption
		if out := difference(before, s.frame); out != "" {
			if err := enc.Encode([]any{at.Seconds(), "o", out}); err != nil {
				return err
			}
		}
		before = s.frame
		at += s.hold
	}
	return enc.Encode([]any{at.Seconds(), "o", "\x1b[0m"})
}

// difference is what a terminal that shows one frame must get to show another.
func difference(before, now frame) string {
	var b strings.Builder
	if before == nil {
		b.WriteString("\x1b[?25l\x1b[2J")
	}
	for y, l := range now {
		text := l.ansi()
		if y < len(before) && before[y].ansi() == text {
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[K%s", y+1, text)
	}
	return b.String()
}
