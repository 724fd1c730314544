package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

// maxInput bounds what is read from a file or from stdin.
const maxInput = 64 << 20

// text reads the value of a flag: as it is, @file, or - for stdin.
func (s *session) text(flag, value string) (string, error) {
	switch {
	case value == "-":
		return s.file(flag, "-")
	case strings.HasPrefix(value, "@"):
		return s.file(flag, value[1:])
	}
	return value, nil
}

// file reads a file, or stdin when it is called -.
func (s *session) file(flag, path string) (string, error) {
	if path == "-" {
		return s.stdin(flag)
	}
	b, err := readLimited(path)
	if err != nil {
		return "", exit.Usagef("--%s: cannot read %s", flag, path).Because("%v", err)
	}
	return string(b), nil
}

func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		if e := (*fs.PathError)(nil); errors.As(err, &e) {
			return nil, e.Err
		}
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	return readAll(f)
}

func readAll(r io.Reader) ([]byte, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxInput+1))
	if err == nil && len(b) > maxInput {
		return nil, fmt.Errorf("it is larger than %d MiB", maxInput>>20)
	}
	return b, err
}

// stdin reads all of it. Only one flag of a command can have it.
func (s *session) stdin(flag string) (string, error) {
	switch {
	case s.ReadsStdin():
		return "", exit.Usagef("--%s -: stdin is already read for the token", flag)
	case s.stdinUsed != "":
		return "", exit.Usagef("--%s -: stdin is already read for --%s", flag, s.stdinUsed)
	}
	s.stdinUsed = flag
	if s.io.InTTY {
		s.io.Notef("reading stdin, Ctrl-D ends")
	}
	b, err := readAll(s.io.In)
	if err != nil {
		return "", exit.Usagef("--%s -: cannot read stdin", flag).Because("%v", err)
	}
	return string(b), nil
}

// json reads the value of a flag as JSON: as it is, @file, or - for stdin. It is
// passed on as it was written.
func (s *session) json(flag, value string) (json.RawMessage, error) {
	text, err := s.text(flag, value)
	if err != nil {
		return nil, err
	}
	raw := bytes.TrimSpace([]byte(text))
	d := json.NewDecoder(bytes.NewReader(raw))
	var v json.RawMessage
	err = d.Decode(&v)
	if err == nil && len(bytes.TrimSpace(raw[d.InputOffset():])) > 0 {
		err = errors.New("there is more behind the JSON value")
	}
	if err != nil {
		e := exit.Usagef("--%s is not JSON", flag).Because("%s", jsonProblem(raw, err))
		if !strings.HasPrefix(value, "@") && value != "-" {
			e = e.Try(`quote it for the shell, as in --%s '{"key":"value"}', or use @FILE or - for stdin`, flag)
		}
		return nil, e
	}
	return v, nil
}

// jsonProblem says where a JSON text is wrong.
func jsonProblem(raw []byte, err error) string {
	if e := (*json.SyntaxError)(nil); errors.As(err, &e) {
		before := raw[:min(max(int(e.Offset)-1, 0), len(raw))]
		line := 1 + bytes.Count(before, []byte("\n"))
		column := len(before) - bytes.LastIndexByte(before, '\n')
		return fmt.Sprintf("line %d, column %d: %v", line, column, e)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return err.Error()
}
