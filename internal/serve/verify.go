package serve

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/config"
	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// dbFlag adds --db. The default is not the flag's, because help and manual are
// the same on every machine.
func dbFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "db", "", "database `file` (default kernel.db in $XDG_DATA_HOME/kernelctl) [$SERVICE_DB]")
}

// database is the file that --db or the environment names, or the default.
func database(cmd *cobra.Command, path string) (string, error) {
	if path == "" {
		path = config.DefaultDB(os.LookupEnv)
	}
	if path == "" {
		return "", exit.Usagef("which database?").Try("%s --db FILE", cmd.CommandPath())
	}
	if _, err := os.Stat(path); err != nil {
		return "", exit.Usagef("there is no database to look at").Because("%v", err).Try("name it with --db FILE")
	}
	return path, nil
}

func newVerify(h *cli.Host) *cobra.Command {
	var db, file string
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Check a database file, a backup or an export",
		Long: `verify reads a database file and checks the file itself, the sequence of every
log, its hash chain with the digests of all bodies, and that the tables made from
the log say what the log says. It changes nothing, and works on a backup as well
as on the file of a running server.

With --file it checks an export instead: the digest of each execution, that its
events are without a gap and agree with its status, and that nothing was cut off.
The exit code is 20 when something is wrong.`,
		Example: `  kernelctl verify --db /var/lib/kernelctl/kernel.db
  kernelctl verify --db backup.db -o json
  kernelctl verify --file run.jsonl`,
		Args: cobra.NoArgs,
	}
	dbFlag(cmd, &db)
	cmd.Flags().StringVar(&file, "file", "", "check this export `file` instead of a database; - is stdin")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := h.Session(cmd)
		if err != nil {
			return err
		}
		if file != "" {
			return verifyExport(s, cmd.InOrStdin(), file)
		}
		path, err := database(cmd, db)
		if err != nil {
			return err
		}
		return verifyDB(cmd.Context(), s, path)
	}
	cmd.MarkFlagsMutuallyExclusive("db", "file")
	h.Shape("verified", verified{})
	h.Shape("verified-export", verifiedExport{})
	return cmd
}

// verified is what verify says of a database, in JSON.
type verified struct {
	OK         bool     `json:"ok"`
	DB         string   `json:"db"`
	Executions int64    `json:"executions"`
	Events     int64    `json:"events"`
	Bodies     int64    `json:"bodies"`
	Erased     int64    `json:"erased_bodies"`
	Rows       int64    `json:"projection_rows"`
	Found      int64    `json:"problems_found"`
	Problems   []string `json:"problems"` // the first ones
	Seconds    float64  `json:"seconds"`
}

func verifyDB(ctx context.Context, s *cli.Session, path string) error {
	began := time.Now()
	report, err := sqlite.Verify(ctx, path, sqlite.VerifyOptions{})
	if err != nil {
		return &exit.Error{Code: exit.Failed, What: "could not look at the database", Why: err.Error(), Err: err}
	}
	took := time.Since(began)
	v := verified{
		OK: report.OK(), DB: path, Executions: report.Executions, Events: report.Events, Bodies: report.Bodies, Erased: report.Erased,
		Rows: report.Rows, Found: report.Found, Problems: []string{}, Seconds: took.Seconds(),
	}
	for _, p := range report.Problems {
		v.Problems = append(v.Problems, p.String())
	}
	checks := []cli.Diagnosis{
		{Level: cli.LevelOK, Check: "file", Text: fmt.Sprintf("%s, looked at in %s", path, printer.Took(took))},
		{Level: cli.LevelOK, Check: "events", Text: fmt.Sprintf("%s in %s: sequence and hash chain hold", printer.Counted(v.Events, "event"), printer.Counted(v.Executions, "execution"))},
		{Level: cli.LevelOK, Check: "bodies", Text: fmt.Sprintf("%d match their digests, %d were erased", v.Bodies, v.Erased)},
		{Level: cli.LevelOK, Check: "tables", Text: printer.Counted(v.Rows, "row") + " as the log says"},
	}
	if !v.OK {
		checks = failures(v.Problems, v.Found, "keep the file as it is, and restore a backup that verifies")
	}
	return conclude(s, v, checks, path, v.Found)
}

// failures are lines for the problems that are named, of all that were found.
func failures(named []string, found int64, fix string) []cli.Diagnosis {
	var checks []cli.Diagnosis
	for _, p := range named {
		checks = append(checks, cli.Diagnosis{Level: cli.LevelFail, Check: "problem", Text: p})
	}
	if more := found - int64(len(named)); more > 0 {
		checks = append(checks, cli.Diagnosis{Level: cli.LevelFail, Check: "problem", Text: fmt.Sprintf("and %d more", more)})
	}
	if fix != "" {
		checks[len(checks)-1].Fix = fix
	}
	return checks
}

// conclude prints a verdict: for a person its checks, for a program the whole.
func conclude(s *cli.Session, verdict any, checks []cli.Diagnosis, path string, found int64) error {
	done, err := s.Print(verdict)
	if !done && err == nil {
		err = s.PrintDiagnoses(checks)
	}
	if err != nil || found == 0 {
		return err
	}
	return &exit.Error{Code: exit.CheckFailed, What: path + " has " + printer.Counted(found, "problem")}
}
