package logging

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// Format is how a line of the log is written.
type Format uint8

// The formats.
const (
	Text Format = iota // key=value
	JSON               // one object a line
)

func (f Format) String() string {
	if f == JSON {
		return "json"
	}
	return "text"
}

// ParseFormat reads the name of a format.
func ParseFormat(s string) (Format, error) {
	switch strings.ToLower(s) {
	case "text":
		return Text, nil
	case "json":
		return JSON, nil
	}
	return 0, fmt.Errorf("unknown log format %q: use text or json", s)
}

// ParseLevel reads the name of a level.
func ParseLevel(s string) (slog.Level, error) {
	switch strings.ToLower(s) {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn", "warning":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("unknown log level %q: use debug, info, warn or error", s)
}

// New is a logger that writes lines of at least a level to w. Attributes whose
// name says that they hold a credential are never written: see [Sensitive].
func New(w io.Writer, format Format, level slog.Leveler) *slog.Logger {
	opts := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if format == JSON {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}
