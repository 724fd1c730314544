package printer

import (
	"io"
	"strconv"
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Schema is the version of the JSON lists. Within it, fields are only added.
const Schema = "v0"

// TimeStyle is the value of --time.
type TimeStyle string

// The styles of timestamps.
const (
	Relative TimeStyle = "relative" // 3m ago
	ISO      TimeStyle = "iso"
	Unix     TimeStyle = "unix"
)

// Printer knows how to write, not what.
type Printer struct {
	Out     io.Writer
	Format  Format           // never Auto; see Resolve
	Width   int              // of the terminal; 0: nothing is cut
	Color   bool             // the 16 colours of the terminal
	Headers bool             // of tables
	Full    bool             // ids as they are, not shortened
	Screen  bool             // a person reads along: control characters are shown, in JSON too
	Times   TimeStyle        // of tables and cards
	UTC     bool             // for ISO
	IDsOnly bool             // --quiet: a list is its ids
	Now     func() time.Time // the service's clock, as well as it is known
}

// Cell is one value of a table: in full for a program, short for a person.
type Cell struct {
	Text  string
	Short string // empty: Text
	Style Style
}

// Text is a cell that is shown as it is.
func Text(s string) Cell { return Cell{Text: s} }

// Int is a number.
func Int(n int64) Cell { return Cell{Text: strconv.FormatInt(n, 10)} }

// Dash is s, or a dash on the screen when there is nothing.
func Dash(s string) Cell {
	if s == "" {
		return Cell{Text: "", Short: "-"}
	}
	return Cell{Text: s}
}

// ID is an id, of which a person sees the end. The beginning of a time-ordered
// id says when it was made and not which one it is.
func ID(id string) Cell { return Cell{Text: id, Short: ShortID(id)} }

// ShortIDLen is how much of an id is shown.
const ShortIDLen = 8

// ShortID is the part of an id that a person sees, and that commands accept.
func ShortID(id string) string {
	if len(id) <= 2*ShortIDLen {
		return id
	}
	return id[len(id)-ShortIDLen:]
}

// Name is an id as running text shows it.
func (p *Printer) Name(id string) string {
	if p.Full {
		return id
	}
	return ShortID(id)
}

// Ago is a timestamp of the past.
func (p *Printer) Ago(t wire.Time) Cell {
	if t.IsZero() {
		return Cell{Short: "-"}
	}
	return p.stamp(t, func() string { return Since(p.Now().Sub(t.Time)) })
}

// AgoPtr is a timestamp of the past that may be absent.
func (p *Printer) AgoPtr(t *wire.Time) Cell {
	if t == nil {
		return Cell{Short: "-"}
	}
	return p.Ago(*t)
}

// Age is how old something is.
func (p *Printer) Age(t wire.Time) Cell {
	if t.IsZero() {
		return Cell{Short: "-"}
	}
	return p.stamp(t, func() string { return Duration(p.Now().Sub(t.Time)) })
}

// Left is how long it is until a timestamp.
func (p *Printer) Left(t wire.Time) Cell {
	if t.IsZero() {
		return Cell{Short: "-"}
	}
	c := p.stamp(t, func() string { return Left(t.Sub(p.Now())) })
	if t.Sub(p.Now()) < time.Minute {
		c.Style = Bad
	}
	return c
}

// Clock is the time of day of something that just happened.
func (p *Printer) Clock(t wire.Time) Cell {
	if t.IsZero() {
		return Cell{Short: "-"}
	}
	return p.stamp(t, func() string {
		if p.UTC {
			return t.UTC().Format("15:04:05")
		}
		return t.Local().Format("15:04:05")
	})
}

func (p *Printer) stamp(t wire.Time, relative func() string) Cell {
	switch p.Times {
	case Unix:
		return Cell{Text: strconv.FormatFloat(float64(t.UnixMicro())/1e6, 'f', 6, 64)}
	case ISO:
		if p.UTC {
			return Cell{Text: t.String()}
		}
		return Cell{Text: t.Local().Format("2006-01-02T15:04:05-07:00")}
	case Relative:
	}
	if p.Full {
		return Cell{Text: relative()}
	}
	return Cell{Text: t.String(), Short: relative()}
}
