package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// token is a meaning that a theme gives a look. The word is always printed, so
// nothing is lost without colour.
type token int

// The tokens.
const (
	tokPlain token = iota
	tokOK
	tokWarn
	tokBad
	tokInfo
	tokDim
	tokBold
	tokSel
)

// theme holds the attributes of each token: of the 16 colours of the user's own
// palette, and none at all in mono.
type theme struct {
	name string
	sgr  [tokSel + 1]string
	box  box
}

// box holds what lines are drawn with.
type box struct{ dash, thick, bar, topLeft, topRight, bottomLeft, bottomRight string }

// newBox is ascii, which is as wide as it looks on every terminal, or unicode.
func newBox(name string) (box, error) {
	switch name {
	case "", "ascii":
		return box{"-", "=", "|", "+", "+", "+", "+"}, nil
	case "unicode":
		return box{"─", "═", "│", "┌", "┐", "└", "┘"}, nil
	}
	return box{}, fmt.Errorf("borders %q: want ascii or unicode", name)
}

// themes lists the names of themes.
func themes() []string { return []string{"auto", "ansi", "dark", "light", "mono"} }

// newTheme makes a theme. Auto is the user's palette, or mono when colour is
// not wanted.
func newTheme(name, borders string, color bool) (theme, error) {
	if name == "" {
		name = "auto"
	}
	if !slices.Contains(themes(), name) {
		return theme{}, fmt.Errorf("theme %q: want one of %s", name, strings.Join(themes(), ", "))
	}
	box, err := newBox(borders)
	if err != nil {
		return theme{}, err
	}
	t := theme{name: name, box: box}
	t.sgr[tokSel], t.sgr[tokBold] = "7", "1"
	switch {
	case name == "mono" || !color:
		t.name = "mono"
	case name == "dark":
		t.colors("92", "93", "91", "96", "37")
	case name == "light":
		t.colors("32", "35", "31", "34", "2")
	default:
		t.colors("32", "33", "31", "36", "2")
	}
	return t, nil
}

func (t *theme) colors(ok, warn, bad, info, dim string) {
	t.sgr[tokOK], t.sgr[tokWarn], t.sgr[tokBad], t.sgr[tokInfo], t.sgr[tokDim] = ok, warn, bad, info, dim
}

// paint gives clean text the look of a token.
func (t *theme) paint(k token, s string) string {
	if t.sgr[k] == "" || s == "" {
		return s
	}
	return "\x1b[" + t.sgr[k] + "m" + s + text.Reset
}

// selected shows a line as the one under the cursor.
func (t *theme) selected(s string) string { return t.paint(tokSel, ansi.Strip(s)) }

// faded shows a line as out of date.
func (t *theme) faded(s string) string { return t.paint(tokDim, ansi.Strip(s)) }

// header paints the first line in the colour of a context.
func (t *theme) header(color, s string) string {
	code, ok := map[string]string{
		"red": "41;97", "green": "42;30", "yellow": "43;30", "blue": "44;97", "magenta": "45;97", "cyan": "46;30", "white": "47;30",
	}[color]
	if !ok || t.name == "mono" {
		return s
	}
	return "\x1b[" + code + "m" + ansi.Strip(s) + text.Reset
}

func execToken(s wire.ExecutionStatus) token {
	switch s {
	case wire.ExecutionRunning:
		return tokInfo
	case wire.ExecutionBlocked:
		return tokWarn
	case wire.ExecutionCompleted:
		return tokOK
	case wire.ExecutionFailed:
		return tokBad
	case wire.ExecutionCancelled:
		return tokDim
	case wire.ExecutionPending:
	}
	return tokPlain
}

func stepToken(s wire.StepStatus) token {
	switch s {
	case wire.StepSucceeded:
		return tokOK
	case wire.StepAwaitingApproval:
		return tokWarn
	case wire.StepDenied, wire.StepFailed:
		return tokBad
	case wire.StepExecuting, wire.StepAllowed:
		return tokInfo
	case wire.StepCancelled:
		return tokDim
	case wire.StepProposed:
	}
	return tokPlain
}

func eventToken(t wire.EventType) token {
	switch {
	case t == wire.EventExecutionCompleted, t == wire.EventStepSucceeded, t == wire.EventApprovalGranted:
		return tokOK
	case t == wire.EventStepAwaitingApproval, t == wire.EventApprovalRequested, t == wire.EventExecutionBlocked, t == wire.EventStepRateLimited:
		return tokWarn
	case strings.HasSuffix(string(t), ".failed"), strings.HasSuffix(string(t), ".denied"), t == wire.EventApprovalExpired:
		return tokBad
	case strings.HasPrefix(string(t), "dispatch."):
		return tokDim
	}
	return tokPlain
}
