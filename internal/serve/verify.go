package serve

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/archive"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/sqlite"
)

const flagDB = "db"

func dbFlag(cmd *cobra.Command) *string {
	return cmd.Flags().String(flagDB, config.DefaultDB(os.LookupEnv), "database file [$SERVICE_DB]")
}

func newVerify(h *cli.Host) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a database file, a backup or an export",
		Long: `verify reads a database file and checks the file itself, the sequence of every
log, its hash chain with the digests of all bodies, and that the tables made from
the log say what the log says. It changes nothing, and works on a backup as well
as on the file of a running server.

With --file it checks an export instead. The exit code is 20 when something is
wrong.`,
		Example: `  kernelctl verify --db /var/lib/kernelctl/kernel.db
  kernelctl verify --db backup.db -o json
  kernelctl verify --file run.jsonl`,
		Args: cobra.NoArgs,
	}
	db := dbFlag(cmd)
	cmd.Flags().StringVar(&file, "file", "", "check this export instead of a database; - is stdin")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := h.Session(cmd)
		if err != nil {
			return err
		}
		if file != "" {
			return verifyExport(cmd, h, file)
		}
		return verifyDB(cmd.Context(), h, s, *db)
	}
	return cmd
}

// verdict is what verify says of a database, in JSON.
type verdict struct {
	OK         bool     `json:"ok"`
	DB         string   `json:"db"`
	Executions int64    `json:"executions"`
	Events     int64    `json:"events"`
	Bodies     int64    `json:"bodies"`
	Erased     int64    `json:"erased_bodies"`
	Rows       int64    `json:"projection_rows"`
	Found      int64    `json:"problems_found"`
	Problems   []string `json:"problems"`
	Seconds    float64  `json:"seconds"`
}

func verifyDB(ctx context.Context, h *cli.Host, s *cli.Session, path string) error {
	if path == "" {
		return exit.Usagef("which database?").Try("kernelctl verify --db FILE")
	}
	began := time.Now()
	report, err := sqlite.Verify(ctx, path, sqlite.VerifyOptions{})
	if err != nil {
		return &exit.Error{Code: exit.Failed, What: "could not look at the database", Why: err.Error(), Err: err}
	}
	v := verdict{
		OK: report.OK(), DB: path, Executions: report.Executions, Events: report.Events, Bodies: report.Bodies, Erased: report.Erased,
		Rows: report.Rows, Found: report.Found, Problems: []string{}, Seconds: time.Since(began).Seconds(),
	}
	for _, p := range report.Problems {
		v.Problems = append(v.Problems, p.String())
	}
	if done, err := s.Print(v); done || err != nil {
		return errors.Join(err, v.err())
	}
	out := h.Streams().Out
	if v.OK {
		_, err = fmt.Fprintf(out, "ok    %s\n      %d events in %d executions: sequence and hash chain hold\n      %d bodies match their digests, %d were erased\n      %d rows are what the log says\n      %.1fs\n",
			path, v.Events, v.Executions, v.Bodies, v.Erased, v.Rows, v.Seconds)
		return err
	}
	for _, p := range v.Problems {
		if _, err := fmt.Fprintln(out, "FAIL ", p); err != nil {
			return err
		}
	}
	return v.err()
}

func (v verdict) err() error {
	if v.OK {
		return nil
	}
	return &exit.Error{
		Code: exit.CheckFailed, What: fmt.Sprintf("%s has %d problems", v.DB, v.Found),
		Next: "keep the file as it is, and restore a backup that verifies",
	}
}

// verifyExport checks what an export can prove about itself.
func verifyExport(cmd *cobra.Command, h *cli.Host, path string) (err error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path) //nolint:gosec // the file that the user named
		if err != nil {
			return &exit.Error{Code: exit.Usage, What: "cannot read the export", Why: err.Error(), Err: err}
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		in = f
	}
	good, bad := 0, 0
	for r := archive.NewReader(in); ; {
		section, err := r.Next()
		var said []string
		var problem *archive.Problem
		switch {
		case errors.Is(err, io.EOF):
			if _, err := fmt.Fprintf(h.Streams().Out, "%d executions are whole, %d problems\n", good, bad); err != nil {
				return err
			}
			if bad > 0 {
				return &exit.Error{Code: exit.CheckFailed, What: fmt.Sprintf("%s has %d problems", path, bad)}
			}
			return nil
		case errors.As(err, &problem):
			said = []string{problem.Error()}
		case err != nil:
			return err
		default:
			for _, what := range section.Check() {
				said = append(said, fmt.Sprintf("line %d: execution %s: %s", section.Line, section.Execution.ID, what))
			}
		}
		if len(said) == 0 {
			good++
		}
		bad += len(said)
		for _, line := range said {
			if _, err := fmt.Fprintln(h.Streams().Out, "FAIL ", line); err != nil {
				return err
			}
		}
	}
}

func newBackup(h *cli.Host) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "backup DEST",
		Short: "Copy a database while its server runs",
		Long: `backup writes a whole, compacted and checked copy of a database file: one
snapshot, on the disk before it gets its name, so that DEST is a whole backup or
none. It may run beside a server. The copy holds the secrets of the agents, and is
readable by its owner alone.`,
		Example: `  kernelctl backup /backups/kernel-$(date +%F).db
  kernelctl backup --db /var/lib/kernelctl/kernel.db b.db && kernelctl verify --db b.db`,
		Args: cobra.ExactArgs(1),
	}
	db := dbFlag(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "replace DEST if it exists")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := h.Session(cmd)
		if err != nil {
			return err
		}
		began := time.Now()
		info, err := sqlite.Backup(cmd.Context(), *db, args[0], sqlite.BackupOptions{Force: force})
		switch {
		case errors.Is(err, sqlite.ErrExists):
			return exit.Usagef("%s exists", args[0]).Because("a backup is not written over a file").Try("kernelctl backup --force …")
		case err != nil:
			return &exit.Error{Code: exit.Failed, What: "no backup was made", Why: err.Error(), Err: err}
		}
		copied := struct {
			Path    string  `json:"path"`
			Bytes   int64   `json:"bytes"`
			SHA256  string  `json:"sha256"`
			Seconds float64 `json:"seconds"`
		}{args[0], info.Size, info.SHA256.String(), time.Since(began).Seconds()}
		if done, err := s.Print(copied); done || err != nil {
			return err
		}
		_, err = fmt.Fprintf(h.Streams().Out, "%s  %d bytes  sha256 %s  %.1fs\n", copied.Path, copied.Bytes, copied.SHA256, copied.Seconds)
		return err
	}
	return cmd
}
