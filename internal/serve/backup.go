package serve

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli"
	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// copied is what backup says of the copy that it made, in JSON.
type copied struct {
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`
	SHA256  string  `json:"sha256"`
	Seconds float64 `json:"seconds"`
}

func newBackup(h *cli.Host) *cobra.Command {
	var db string
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
	dbFlag(cmd, &db)
	cmd.Flags().BoolVar(&force, "force", false, "replace DEST if it exists")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := h.Session(cmd)
		if err != nil {
			return err
		}
		path, err := database(cmd, db)
		if err != nil {
			return err
		}
		began := time.Now()
		info, err := sqlite.Backup(cmd.Context(), path, args[0], sqlite.BackupOptions{Force: force})
		switch {
		case errors.Is(err, sqlite.ErrExists):
			return exit.Usagef("%s exists", args[0]).Because("a backup is not written over a file").Try("kernelctl backup --force …")
		case err != nil:
			return &exit.Error{Code: exit.Failed, What: "no backup was made", Why: err.Error(), Err: err}
		}
		return printCopy(s, copied{args[0], info.Size, info.SHA256.String(), time.Since(began).Seconds()})
	}
	h.Shape("backup", copied{})
	return cmd
}

func printCopy(s *cli.Session, c copied) error {
	if done, err := s.Print(c); done || err != nil {
		return err
	}
	p := s.Printer()
	return printer.One(p, printer.View[copied]{ID: func(c copied) string { return c.Path }}, c, func() []printer.Field {
		return []printer.Field{
			{Name: "backup", Value: printer.Text(c.Path)},
			{Name: "size", Value: printer.Cell{Text: fmt.Sprint(c.Bytes), Short: printer.Bytes(c.Bytes)}},
			{Name: "sha256", Value: printer.Text(c.SHA256)},
			{Name: "took", Value: printer.Text(printer.Took(time.Duration(c.Seconds * float64(time.Second))))},
		}
	})
}
