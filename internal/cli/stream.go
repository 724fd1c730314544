package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newStream(f *factory) *cobra.Command {
	cmd := newStreamWatch(f, "stream ID")
	watch := newStreamWatch(f, "watch ID")
	watch.Short = "The same as kernelctl stream ID"
	watch.Example = `  kernelctl stream watch 9f3a71c2`
	cmd.AddCommand(watch)
	return cmd
}

func newStreamWatch(f *factory, use string) *cobra.Command {
	var raw bool
	var step string
	cmd := &cobra.Command{
		Use:   use,
		Short: "Show the live output of an execution's steps",
		Long: `Shows what an agent publishes while its steps run, as it comes, until the
execution has ended. Live output is best-effort and kept nowhere: what was
published before, or while the connection is lost, is not shown. A gap is noted on
stderr.

On a terminal, control characters in the output are shown as escapes, unless
--raw is given; line breaks and tabs stay.`,
		Example: `  kernelctl stream 9f3a71c2
  kernelctl stream 9f3a71c2 -o jsonl`,
		Args: takes(1, 1, "the id of an execution"),
	}
	cmd.Flags().BoolVar(&raw, "raw", false, "pass control characters on to the terminal")
	cmd.Flags().StringVar(&step, "step", "", "of this `step` only")
	cmd.RunE = f.do(traits{long: true}, func(ctx context.Context, s *session) error { return s.stream(ctx, step, raw) })
	return cmd
}

func (s *session) stream(ctx context.Context, stepArg string, raw bool) error {
	if word := s.args[0]; !strings.ContainsAny(word, "0123456789") && nearestCommand(s.cmd, word) != "" {
		return unknownWord(s.cmd, word)
	}
	x, c, err := s.execution(ctx, s.args[0])
	if err != nil {
		return err
	}
	d := &deltas{s: s, p: s.printer(), next: map[string]int64{}, raw: raw || !s.io.OutTTY}
	if stepArg != "" {
		if d.only, err = s.stepID(ctx, x.ID, stepArg); err != nil {
			return err
		}
	}
	end, err := c.Stream(ctx, x.ID, s.linkNotes(), d.write)
	err = errors.Join(err, d.finish())
	if err != nil {
		return s.detached(err, "stopped looking; execution "+s.short(x.ID)+" goes on", "kernelctl stream "+printer.ShortID(x.ID))
	}
	s.io.Notef("execution %s is %s", s.short(x.ID), end.Status)
	return nil
}

// deltas writes live output.
type deltas struct {
	s    *session
	p    *printer.Printer
	only string
	raw  bool
	next map[string]int64 // by step: the number that would be no gap
	tail byte             // the last byte written
	any  bool
}

func (d *deltas) write(delta wire.StreamDelta) error {
	if d.only != "" && delta.StepID != d.only {
		return nil
	}
	if want, known := d.next[delta.StepID]; known && delta.Seq > want {
		d.s.io.Warnf("%d deltas of step %s are missing", delta.Seq-want, printer.ShortID(delta.StepID))
	}
	d.next[delta.StepID] = delta.Seq + 1
	if !d.p.Format.ForPerson() {
		return d.p.Compact(delta)
	}
	text := delta.Data
	if !d.raw {
		text = visible(text)
	}
	if text == "" {
		return nil
	}
	d.any, d.tail = true, text[len(text)-1]
	_, err := io.WriteString(d.s.out, text)
	return err
}

// finish ends the last line on a terminal, so that the prompt begins its own.
func (d *deltas) finish() error {
	if !d.any || d.tail == '\n' || !d.s.io.OutTTY {
		return nil
	}
	_, err := fmt.Fprintln(d.s.out)
	return err
}

// visible shows control characters as escapes, and leaves line breaks and tabs.
func visible(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		i := strings.IndexAny(text, "\n\t")
		if i < 0 {
			b.WriteString(printer.Clean(text))
			break
		}
		b.WriteString(printer.Clean(strings.TrimSuffix(text[:i], "\r")))
		r, n := utf8.DecodeRuneInString(text[i:])
		b.WriteRune(r)
		text = text[i+n:]
	}
	return b.String()
}
