package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// TestTheLogOfAFullDiskIsShort refuses many writes in a second: each caller is
// told, and the log once, until it says that it is over.
func TestTheLogOfAFullDiskIsShort(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "kernel.db")
	synctest.Test(t, func(t *testing.T) {
		var lines bytes.Buffer
		db, err := sqlite.Open(context.Background(), path, sqlite.Options{Logger: slog.New(slog.NewTextHandler(&lines, nil))})
		if err != nil {
			t.Fatal(err)
		}
		defer run(t, db)()
		disk := func(fault error) {
			t.Helper()
			if err := sqlite.Fail(db, func(int) error { return fault }); err != nil {
				t.Fatal(err)
			}
		}
		logged := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := strings.Split(strings.TrimSpace(lines.String()), "\n")
			lines.Reset()
			if len(want) == 0 {
				want = []string{""}
			}
			if len(got) != len(want) {
				t.Fatalf("logged %q, want %q", got, want)
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("logged %q, want %q", got[i], want[i])
				}
			}
		}
		refuse := func(times int) {
			t.Helper()
			for range times {
				if err := putAgent(db); !errors.Is(err, store.ErrUnavailable) {
					t.Fatalf("a write to a full disk: %v, want %v", err, store.ErrUnavailable)
				}
			}
		}
		take := func() {
			t.Helper()
			if err := putAgent(db); err != nil {
				t.Fatal(err)
			}
		}
		take()
		logged()

		disk(sqlite.FaultFull)
		refuse(50)
		logged(`level=ERROR msg="the database refuses to write" refused=1 `)
		<-time.After(time.Second)
		refuse(50)
		logged(`level=ERROR msg="the database refuses to write" refused=51 `)

		disk(nil)
		take()
		logged() // a small one may fit where a large one does not
		disk(sqlite.FaultFull)
		refuse(1)
		disk(nil)
		<-time.After(time.Second)
		take()
		logged(`level=INFO msg="the database takes writes again" refused=101`)
		take()
		logged()

		disk(sqlite.FaultFull)
		refuse(1)
		logged(`level=ERROR msg="the database refuses to write" refused=1 `)
	})
}
