package iostreams

import "fmt"

// ColorMode is the value of --color.
type ColorMode string

// The colour modes.
const (
	ColorAuto   ColorMode = "auto"
	ColorAlways ColorMode = "always"
	ColorNever  ColorMode = "never"
)

// ParseColorMode reads a colour mode; empty means auto.
func ParseColorMode(s string) (ColorMode, error) {
	switch m := ColorMode(s); m {
	case "":
		return ColorAuto, nil
	case ColorAuto, ColorAlways, ColorNever:
		return m, nil
	}
	return "", fmt.Errorf("colour mode %q: want auto, always or never", s)
}

// ColorOut reports whether to colour stdout.
func (s *Streams) ColorOut() bool { return s.color(s.OutTTY) }

// ColorErr reports whether to colour stderr.
func (s *Streams) ColorErr() bool { return s.color(s.ErrTTY) }

// color follows: flag, NO_COLOR, CLICOLOR_FORCE, TERM=dumb, terminal.
func (s *Streams) color(tty bool) bool {
	switch {
	case s.Color == ColorAlways:
		return true
	case s.Color == ColorNever, value(s.env, "NO_COLOR") != "":
		return false
	case set(s.env, "CLICOLOR_FORCE"):
		return true
	case s.Dumb():
		return false
	}
	return tty
}
