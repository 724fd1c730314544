package iostreams

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// ErrNoPrompt means that nobody can be asked. Callers check CanPrompt first.
var ErrNoPrompt = errors.New("there is no terminal to ask on")

// Ask asks for one line on stderr. An empty answer gives the suggestion.
func (s *Streams) Ask(ctx context.Context, question, suggestion string) (string, error) {
	if !s.CanPrompt() {
		return "", ErrNoPrompt
	}
	if suggestion != "" {
		question += " [" + suggestion + "]"
	}
	s.mu.Lock()
	s.spin.clear(s.Err)
	_, err := fmt.Fprint(s.Err, question+" ")
	s.mu.Unlock()
	if err != nil {
		return "", err
	}
	answer, err := s.readLine(ctx)
	if err != nil {
		return "", err
	}
	if answer == "" {
		return suggestion, nil
	}
	return answer, nil
}

// Confirm asks a question that only y or yes answers with yes.
func (s *Streams) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := s.Ask(ctx, question+" [y/N]", "")
	if err != nil {
		return false, err
	}
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), nil
}

// readLine reads an answer. The end of the input is an empty one.
func (s *Streams) readLine(ctx context.Context) (string, error) {
	if s.lines == nil {
		s.lines = bufio.NewReader(s.In)
	}
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := s.lines.ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if l.err != nil && !errors.Is(l.err, io.EOF) {
			return "", fmt.Errorf("read the answer: %w", l.err)
		}
		if l.err != nil {
			s.Warnf("") // leave the line of the question
		}
		return strings.TrimSpace(l.text), nil
	case <-ctx.Done():
		s.Warnf("")
		return "", context.Cause(ctx)
	}
}
