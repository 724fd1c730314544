package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/pack"
)

// VerifyOptions tune a [Verify]; the zero value is right.
type VerifyOptions struct {
	// Problems is how many problems the report names; 0 means 20. It counts all of them.
	Problems int
	// Progress is told now and then how far it is; may be nil.
	Progress func(Report)
}

// Report is what a [Verify] looked at and found.
type Report struct {
	Executions int64
	Events     int64
	Bodies     int64 // that are there, and were compared with their digests
	Erased     int64 // bodies that are gone; the chain covers their digests
	Rows       int64 // of projections, compared with a rebuild from the log
	Found      int64 // problems
	Problems   []Problem
}

// OK reports whether nothing was found.
func (r *Report) OK() bool { return r.Found == 0 }

// Problem is one thing that is not as it has to be.
type Problem struct {
	Table     string             // where it shows
	Execution kernel.ExecutionID // zero: it is of none, or of which is unknown
	No        int64              // number of the execution; 0: of none
	Seq       int64              // of the event; 0: it is of none
	What      string
}

func (p Problem) String() string {
	text := p.Table
	if !p.Execution.IsZero() {
		text += " of execution " + p.Execution.String()
	} else if p.No != 0 {
		text += fmt.Sprintf(" of execution number %d", p.No)
	}
	if p.Seq != 0 {
		text += fmt.Sprintf(", event %d", p.Seq)
	}
	return text + ": " + p.What
}

// Verify checks the database file at path: the file itself, the sequence and
// the hash chain of every log with the digests of its bodies, and that a
// rebuild of the projections from the log, by the code that writes them,
// gives the very rows that are stored. What is operational (dispatches, leases,
// rate limit slots, keys) is not in the log and not compared.
//
// It changes nothing, and works on a backup as well as on a file that a server
// is writing: it looks at one snapshot. While it runs, the write-ahead log of a
// live file cannot be reset and grows. Memory is bounded by the largest single
// execution. An error means that it could not look; damage is in the report.
func Verify(ctx context.Context, path string, opts VerifyOptions) (Report, error) {
	if opts.Problems <= 0 {
		opts.Problems = 20
	}
	v := &verifier{opts: opts}
	if err := v.run(ctx, path); err != nil {
		return v.report, fmt.Errorf("verify %s: %w", path, explain(err))
	}
	return v.report, nil
}

// verifier is the state of one Verify.
type verifier struct {
	opts   VerifyOptions
	report Report

	stored  conn // the file
	events  *stmt
	queued  *stmt
	label   *stmt
	id      *stmt
	tables  []table
	rebuilt *writer // over an empty database in memory
	sum     int64   // of the positions, wrapping
	last    int64   // the highest position
	chain   kernel.Chain
	log     logCheck
	body    *stmt
	codec   pack.Codec
}

func (v *verifier) run(ctx context.Context, path string) error {
	db, err := openForInspection(ctx, path)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // only read
	if err := checkSchema(ctx, db); err != nil {
		return err
	}
	stored, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }()
	if _, err := stored.ExecContext(ctx, "BEGIN"); err != nil { // one snapshot
		return err
	}
	err = integrity(ctx, stored, func(text string) { v.problem(Problem{Table: "file", What: text}) })
	if err == nil {
		err = v.withRebuild(ctx, stored)
	}
	if code(err)&0xff == codeCorrupt {
		v.problem(Problem{Table: "file", What: err.Error()})
		return nil
	}
	return err
}

func (v *verifier) problem(p Problem) {
	v.report.Found++
	if len(v.report.Problems) < v.opts.Problems {
		v.report.Problems = append(v.report.Problems, p)
	}
}

// withRebuild makes the database that projections are rebuilt in, and compares.
func (v *verifier) withRebuild(ctx context.Context, stored *sql.Conn) error {
	memory, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return err
	}
	defer func() { _ = memory.Close() }()
	memory.SetMaxOpenConns(1) // each connection would have a memory of its own
	db := &DB{opts: withDefaults(Options{})}
	db.log = db.opts.Logger
	if err := migrate(ctx, memory, "rebuild", db.log); err != nil {
		return err
	}
	c, err := memory.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	return stored.Raw(func(file any) error {
		return c.Raw(func(mem any) (err error) {
			if v.stored, err = newConn(file); err != nil {
				return err
			}
			rebuilt, err := newConn(mem)
			if err != nil {
				return err
			}
			v.rebuilt = &writer{db: db, conn: rebuilt}
			defer func() { err = errors.Join(err, v.rebuilt.conn.close(), v.stored.close()) }()
			if err := v.rebuilt.start(); err != nil {
				return err
			}
			if err := v.prepare(); err != nil {
				return err
			}
			return v.compare(ctx)
		})
	})
}

// openForInspection opens a database of ours for reading only.
func openForInspection(ctx context.Context, path string) (*sql.DB, error) {
	abs, err := resolve(path)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite", dsn(abs, inspectorParams()))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := checkOurs(ctx, db); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// checkSchema refuses a file whose rows another build understands.
func checkSchema(ctx context.Context, db *sql.DB) error {
	steps, err := loadMigrations()
	if err != nil {
		return err
	}
	version, applied, err := appliedMigrations(ctx, db)
	switch {
	case err != nil:
		return err
	case version == 0:
		return errors.New("the file is empty")
	case version != len(steps) || version != len(applied) || applied[version-1] != steps[version-1].sum:
		return fmt.Errorf("the file has schema version %d, this build has %d: use the kernelctl that wrote it", version, len(steps))
	}
	return nil
}
