package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/bench"
	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

func newBench(h *cli.Host) *cobra.Command {
	h.Shape("benchmark", bench.Report{})
	b := &benchmark{h: h}
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure a server: throughput, latency, cost, limits",
		Long: `bench starts a server of this binary on an empty database, puts an agent's load
to it over HTTP, and prints how many steps a second it carries, how long each
operation takes, and what a step costs in CPU and on the disk. In the same run it
takes what the machine does by itself (flushes of a file, bare HTTP): only the
ratio to that says something about the server, so compare figures of one machine.

With --server it measures a server that runs. It registers an agent of its own
there and leaves its executions behind.

Scenarios (* are measured unless --scenario says otherwise):
` + scenarios() + `
docs/performance.md says what each figure means and what to expect.`,
		Example: `  kernelctl bench
  kernelctl bench --scenario steps --concurrency 1,64 --duration 10s
  kernelctl bench -o json > old.json && kernelctl bench --compare old.json
  kernelctl bench --scenario live --executions 100000`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return b.run(cmd) },
	}
	o, fs := &b.Options, cmd.Flags()
	fs.StringSliceVar(&o.Scenarios, "scenario", nil, "what to measure, by name; all: everything")
	fs.IntSliceVar(&o.Concurrency, "concurrency", []int{1, 16, 64}, "callers at once, of the scenario steps")
	fs.IntVar(&o.Steps, "steps", 20, "steps an execution")
	fs.DurationVar(&o.Duration, "duration", 3*time.Second, "of one case")
	fs.IntVar(&o.Payload, "payload", 64, "bytes of the args and of the result of a step")
	fs.IntVar(&o.Executions, "executions", 10_000, "how many are stored, of list and live")
	fs.IntVar(&o.Tails, "tails", 10_000, "readers, of tails")
	fs.Float64Var(&o.Gigabytes, "gigabytes", 1, "size of the database, of grow")
	fs.Float64Var(&o.Scale, "scale", 1, "of the histories of replay, deep and context; 0.05 for a quick look")
	fs.StringVar(&o.Dir, "dir", "", "`folder` of the databases: the disk that is measured (default the temporary one)")
	fs.StringVar(&o.Listen, "listen", "127.0.0.1:0", "where the load takes webhooks; a server elsewhere must reach it")
	fs.StringVar(&b.compare, "compare", "", "show the change against this report (-o json of an earlier run)")
	fs.Float64Var(&b.tolerance, "tolerance", 0.2, "how much worse a figure may be than in --compare; 0.2 is a fifth")
	fs.BoolVar(&b.markdown, "markdown", false, "print a table for a document")
	return cmd
}

func scenarios() string {
	var b strings.Builder
	for _, s := range bench.Scenarios() {
		mark := " "
		if s.Standard {
			mark = "*"
		}
		fmt.Fprintf(&b, "  %s %-9s %s\n", mark, s.Name, s.What)
	}
	return b.String()
}

// benchmark is one run of the command.
type benchmark struct {
	bench.Options
	h         *cli.Host
	compare   string
	tolerance float64
	markdown  bool
}

func (b *benchmark) run(cmd *cobra.Command) error {
	s, err := b.h.Session(cmd)
	if err != nil {
		return err
	}
	if cmd.Flags().Changed("server") || cmd.Flags().Changed("context") {
		if b.Server, b.Token, err = s.Credentials(cmd.Context()); err != nil {
			return err
		}
	}
	if err := b.check(); err != nil {
		return err
	}
	var before *bench.Report
	if b.compare != "" {
		if before, err = readReport(b.compare); err != nil {
			return err
		}
	}
	if b.Self, err = os.Executable(); err != nil {
		return err
	}
	b.Progress = func(what string) { b.h.Streams().Notef("%s", what) }
	report, err := bench.Run(cmd.Context(), b.Options)
	switch {
	case cmd.Context().Err() != nil: // whatever broke in the middle of it
		return cmd.Context().Err()
	case err != nil:
		return &exit.Error{Code: exit.Failed, What: "the benchmark did not finish", Why: err.Error(), Err: err}
	}
	if err := b.print(s, report, before); err != nil || before == nil {
		return err
	}
	return regression(bench.Compare(before, report, b.tolerance), b.tolerance)
}

// check refuses what cannot be measured.
func (b *benchmark) check() error {
	if len(b.Scenarios) == 1 && b.Scenarios[0] == "all" {
		b.Scenarios = nil
		for _, s := range bench.Scenarios() {
			b.Scenarios = append(b.Scenarios, s.Name)
		}
	}
	for _, name := range b.Scenarios {
		switch s, ok := bench.Find(name); {
		case !ok:
			return exit.Usagef("there is no scenario %q", name).Try("kernelctl bench --help lists them")
		case s.Own && b.Server != "":
			return exit.Usagef("scenario %s needs a server of its own", name).Try("kernelctl bench --scenario %s without --server", name)
		}
	}
	for _, n := range append([]int{b.Steps, b.Executions, b.Tails, int(b.Duration)}, b.Concurrency...) {
		if n < 1 {
			return exit.Usagef("counts and durations must be positive")
		}
	}
	if b.Payload < 0 || b.Gigabytes <= 0 || b.Scale <= 0 || b.tolerance < 0 {
		return exit.Usagef("--payload, --gigabytes, --scale and --tolerance must not be negative")
	}
	return nil
}

func readReport(path string) (*bench.Report, error) {
	text, err := os.ReadFile(path) //nolint:gosec // the file that the user named
	var r bench.Report
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	switch {
	case err != nil:
		return nil, &exit.Error{Code: exit.Usage, What: "cannot read the report to compare with", Why: err.Error(), Err: err}
	case r.Schema != bench.Schema || r.Figures == nil:
		return nil, exit.Usagef("%s is no report of this command", path).Try("kernelctl bench -o json > %s", path)
	}
	return &r, nil
}

func (b *benchmark) print(s *cli.Session, report, before *bench.Report) error {
	out := b.h.Streams().Out
	if b.markdown {
		return report.Markdown(out)
	}
	if done, err := s.Print(report); done || err != nil {
		return err
	}
	if before == nil {
		return report.Text(out)
	}
	return bench.Table(out, bench.Compare(before, report, b.tolerance))
}

// regression is the error of what became worse.
func regression(changes []bench.Change, tolerance float64) error {
	var worse []string
	for i := range changes {
		if changes[i].Regressed {
			worse = append(worse, changes[i].Figure.Key())
		}
	}
	if len(worse) == 0 {
		return nil
	}
	return &exit.Error{
		Code: exit.CheckFailed, What: fmt.Sprintf("%d figures are worse by more than %.0f %%", len(worse), 100*tolerance),
		Why: strings.Join(worse, "; "), Next: "measure again on a quiet machine before you believe it",
	}
}

func newEcho(h *cli.Host) *cobra.Command {
	return &cobra.Command{
		Use:     bench.EchoCommand,
		Short:   "Run the bare HTTP server that bench compares with",
		Long:    "bench-echo answers signed JSON with itself until its standard input ends.",
		Example: "  kernelctl bench-echo < /dev/null",
		Hidden:  true,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return bench.Echo(cmd.Context(), cmd.InOrStdin(), h.Streams().Out)
		},
	}
}
