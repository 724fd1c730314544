package archive

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Writer writes an export.
type Writer struct {
	w                        *bufio.Writer
	sum                      hash.Hash
	id                       string
	events, steps, approvals int
}

// NewWriter writes to w. Nothing is written before a section's end but through
// a buffer of limited size.
func NewWriter(w io.Writer) *Writer {
	return &Writer{w: bufio.NewWriterSize(w, 64<<10), sum: sha256.New()}
}

// Begin begins a section.
func (w *Writer) Begin(x wire.Execution) error {
	w.sum.Reset()
	w.id, w.events, w.steps, w.approvals = x.ID, 0, 0, 0
	return w.put(KindExecution, x, func(l *line, raw []byte) { l.Execution, l.Schema = raw, Schema })
}

// Event adds the next event of the section's execution.
func (w *Writer) Event(e wire.Event) error {
	w.events++
	return w.put(KindEvent, e, func(l *line, raw []byte) { l.Event = raw })
}

// Step adds a step.
func (w *Writer) Step(s wire.Step) error {
	w.steps++
	return w.put(KindStep, s, func(l *line, raw []byte) { l.Step = raw })
}

// Approval adds an approval.
func (w *Writer) Approval(a wire.Approval) error {
	w.approvals++
	return w.put(KindApproval, a, func(l *line, raw []byte) { l.Approval = raw })
}

// End ends the section and writes it out.
func (w *Writer) End() error {
	digest := hex.EncodeToString(w.sum.Sum(nil))
	events, steps, approvals := w.events, w.steps, w.approvals
	if err := w.write(line{Kind: KindEnd, ExecutionID: w.id, Events: &events, Steps: &steps, Approvals: &approvals, SHA256: digest}); err != nil {
		return err
	}
	return w.w.Flush()
}

// Cursor marks that all before it is complete, and where the export goes on;
// empty: nowhere.
func (w *Writer) Cursor(next string) error {
	if err := w.write(line{Kind: KindCursor, NextCursor: &next}); err != nil {
		return err
	}
	return w.w.Flush()
}

func (w *Writer) put(kind Kind, v any, set func(*line, []byte)) error {
	raw, err := wire.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	l := line{Kind: kind}
	set(&l, raw)
	return w.write(l)
}

func (w *Writer) write(l line) error {
	b, err := wire.Marshal(l)
	if err != nil {
		return fmt.Errorf("encode %s: %w", l.Kind, err)
	}
	b = append(b, '\n')
	w.sum.Write(b) // a hash never fails to be written to
	_, err = w.w.Write(b)
	return err
}
