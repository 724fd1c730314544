package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/torture"
)

// tortureFlags are those of the torture command.
type tortureFlags struct {
	kills, full    int
	seed           uint64
	duration, soak time.Duration
	retention      time.Duration
	dir            string
	keep, quick    bool
	load, rate     float64
}

func newTorture(h *cli.Host) *cobra.Command {
	var f tortureFlags
	cmd := &cobra.Command{
		Use:   "torture",
		Short: "Kill a server under load, again and again, and look what is lost",
		Long: `torture runs this very program as a server in a folder of its own, under load,
and kills it with SIGKILL at moments drawn from a seed: at work, starting, making
its schema, stopping, while it copies its log into the file, removes what has
expired, or is backed up. After each kill the file has to verify, and after each
start everything that was ever acknowledged has to be there, as it was.

With --full it fills a small disk instead, so many times, and frees it again,
with and without a kill. With --soak it kills nothing, and watches for a long
time whether memory, goroutines, files or the write-ahead log grow.

It exits with 20 when something is wrong, and then leaves the files.`,
		Example: `  kernelctl torture --kills 200 --seed 7
  kernelctl torture --full 20
  kernelctl torture --soak 1h --rate 500`,
		Hidden: true,
		Args:   cobra.NoArgs,
	}
	flags := cmd.Flags()
	flags.IntVar(&f.kills, "kills", 200, "end after so many kills")
	flags.Uint64Var(&f.seed, "seed", 1, "of everything that is drawn")
	flags.DurationVar(&f.duration, "duration", 0, "end after this time at the latest; 0: when the kills are done")
	flags.StringVar(&f.dir, "dir", "", "folder to make the working folder in (default: that of temporary files)")
	flags.BoolVar(&f.keep, "keep", false, "leave the files also when nothing was wrong")
	flags.BoolVar(&f.quick, "quick", false, "leave out the moments that take long")
	flags.Float64Var(&f.load, "load", 300, "steps a second while servers are killed or the disk is filled")
	flags.IntVar(&f.full, "full", 0, "fill a small disk so many times, instead")
	flags.DurationVar(&f.soak, "soak", 0, "kill nothing, and watch a server for this long, instead")
	flags.Float64Var(&f.rate, "rate", 500, "steps a second of --soak")
	flags.DurationVar(&f.retention, "retention", 2*time.Minute, "of --soak")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, err := h.Session(cmd)
		if err != nil {
			return err
		}
		return f.run(cmd.Context(), h, s)
	}
	return cmd
}

func (f *tortureFlags) run(ctx context.Context, h *cli.Host, s *cli.Session) (err error) {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if f.dir, err = os.MkdirTemp(f.dir, "kernelctl-torture-*"); err != nil {
		return err
	}
	out := h.Streams().Err // what is said on the way; the report is the output
	o := torture.Options{Binary: self, Dir: f.dir, Seed: f.seed, Kills: f.kills, Duration: f.duration, Rate: f.load, Quick: f.quick}
	var report interface {
		Text() string
		Failed() *torture.Failure
	}
	switch {
	case f.soak > 0:
		o.Rate = f.rate
		got, e := torture.Soak(ctx, torture.SoakOptions{Options: o, For: f.soak, Retention: f.retention, Sampled: func(s torture.Sample) {
			_, _ = fmt.Fprintln(out, s)
		}})
		report, err = &got, e
	case f.full > 0:
		o.Progress = func(r torture.Round) { _, _ = fmt.Fprintln(out, r) }
		got, e := torture.FillDisk(ctx, o, f.full)
		report, err = &got, e
	default:
		o.Progress = func(r torture.Round) { _, _ = fmt.Fprintln(out, r) }
		got, e := torture.Run(ctx, o)
		report, err = &got, e
	}
	switch {
	case errors.Is(err, torture.ErrNoSmallDisk):
		_, err = fmt.Fprintf(h.Streams().Out, "skipped: %v\n", err)
		return errors.Join(err, os.RemoveAll(f.dir))
	case err != nil && ctx.Err() != nil && !f.keep: // nothing is wrong, it was told to stop
		return errors.Join(err, os.RemoveAll(f.dir))
	case err != nil:
		return fmt.Errorf("%w; the files are in %s", err, f.dir)
	}
	if done, err := s.Print(report); err != nil {
		return err
	} else if !done {
		if _, err := fmt.Fprint(h.Streams().Out, report.Text()); err != nil {
			return err
		}
	}
	if wrong := report.Failed(); wrong != nil {
		return &exit.Error{
			Code: exit.CheckFailed, What: fmt.Sprintf("seed %d, round %d (%s): %d problems", f.seed, wrong.Round, wrong.Moment, wrong.Found),
			Next: "look at the files in " + wrong.Dir,
		}
	}
	if f.keep {
		return nil
	}
	return os.RemoveAll(f.dir)
}
