package settings

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/agentkernel/kernelctl/internal/client"
)

// tokenSource is where a token comes from. It is read when it is needed, not
// before: a command may ask a person for a password.
type tokenSource struct {
	value, file, command string
	from                 string
}

func (t tokenSource) empty() bool { return t.value == "" && t.file == "" && t.command == "" }

func (t tokenSource) origin() string {
	if t.empty() {
		return "not set"
	}
	return t.from
}

// shown is what may be shown of a token.
func (t tokenSource) shown() string {
	switch {
	case t.file != "":
		return "from file " + t.file
	case t.command != "":
		return "from command " + t.command
	case t.value != "":
		return "[redacted]"
	}
	return ""
}

// String hides the token.
func (t tokenSource) String() string { return t.shown() }

// GoString hides the token.
func (t tokenSource) GoString() string { return t.shown() }

// TokenFile is the file that the token comes from; empty when it does not.
func (s *Settings) TokenFile() string { return s.token.file }

// TokenOrigin says where the token comes from.
func (s *Settings) TokenOrigin() string { return s.token.origin() }

// ReadsStdin reports whether the token comes from stdin.
func (s *Settings) ReadsStdin() bool { return s.token.file == "-" }

// TokenFileOpen is the mode of the token's file when others may read it.
func (s *Settings) TokenFileOpen() (mode os.FileMode, open bool) {
	if s.token.file == "" || s.token.file == "-" {
		return 0, false
	}
	return tooOpen(expand(s.token.file))
}

// Token reads the token; empty when there is none. Stdin and stderr are for a
// token file that is - and for a token command.
func (s *Settings) Token(ctx context.Context, stdin io.Reader, stderr io.Writer) (string, error) {
	t := s.token
	text := t.value
	var err error
	switch {
	case t.file == "-":
		text, err = firstLine(stdin)
	case t.file != "":
		text, err = tokenFromFile(t.file)
	case t.command != "":
		text, err = tokenFromCommand(ctx, t.command, stderr)
	case t.value == "":
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("token (%s): %w", t.from, err)
	}
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return "", fmt.Errorf("token (%s): it is empty", t.from)
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "", fmt.Errorf("token (%s): it has characters that a token cannot have", t.from)
	}
	return text, nil
}

func tokenFromFile(path string) (string, error) {
	f, err := os.Open(expand(path))
	if err != nil {
		return "", errors.New("cannot be read: " + path + ": " + reason(err))
	}
	defer func() { _ = f.Close() }() // it was only read
	return firstLine(f)
}

func tokenFromCommand(ctx context.Context, line string, stderr io.Writer) (string, error) {
	cmd := shell(ctx, line)
	cmd.Stdin, cmd.Stderr = os.Stdin, stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("command %q: %w", line, err)
	}
	return firstLine(strings.NewReader(string(out)))
}

func firstLine(r io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(r, 1<<16)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return strings.TrimSpace(line), nil
}

func shell(ctx context.Context, line string) *exec.Cmd {
	if os.PathSeparator == '\\' {
		return exec.CommandContext(ctx, "cmd", "/c", line)
	}
	return exec.CommandContext(ctx, "sh", "-c", line)
}

// expand makes ~ the home directory, because a file has no shell to do so.
func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func sameServer(a, b string) bool {
	u, errA := client.ParseServer(a)
	w, errB := client.ParseServer(b)
	return errA == nil && errB == nil && *u == *w
}

func loopback(server string) bool {
	u, err := client.ParseServer(server)
	return err == nil && client.IsLoopback(u)
}
