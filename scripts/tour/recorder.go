package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// recorder keeps what is on the screen, as a person would see it.
type recorder struct {
	*terminal
	dir     string // of the stills
	title   string
	caption caption
	shots   []shot
}

// sample is how often the screen is looked at.
const sample = 250 * time.Millisecond

// hold records the screen for a while.
func (r *recorder) hold(ctx context.Context, d time.Duration) error {
	tick := time.NewTicker(sample)
	defer tick.Stop()
	for left := d; left > 0; left -= sample {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
		_, f, err := r.capture(ctx)
		if err != nil {
			return err
		}
		r.add(f)
	}
	return nil
}

// add takes a frame; one like the last makes that last longer.
func (r *recorder) add(f frame) {
	if n := len(r.shots); n > 0 && r.shots[n-1].caption == r.caption && slices.EqualFunc(r.shots[n-1].frame, f, slices.Equal[line]) {
		r.shots[n-1].hold += sample
		return
	}
	r.shots = append(r.shots, shot{f, r.caption, sample})
}

// still writes what is on the screen now as an SVG of its own.
func (r *recorder) still(ctx context.Context, name string, p palette) error {
	_, f, err := r.capture(ctx)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := newDrawing(p, r.columns, r.rows, r.title).still(&b, f); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.dir, name+".svg"), b.Bytes(), 0o644) //nolint:gosec // documentation, for everybody
}

// write writes the film and the cast.
func (r *recorder) write() error {
	var film, cast bytes.Buffer
	if err := newDrawing(dark, r.columns, r.rows, r.title).film(&film, r.shots); err != nil {
		return err
	}
	if err := writeCast(&cast, r.columns, r.rows, r.title, r.shots); err != nil {
		return err
	}
	for name, b := range map[string]*bytes.Buffer{"tour.svg": &film, "tour.cast": &cast} {
		if err := os.WriteFile(filepath.Join(r.dir, name), b.Bytes(), 0o644); err != nil { //nolint:gosec // documentation, for everybody
			return err
		}
	}
	return nil
}
