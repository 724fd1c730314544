package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
)

// TestDamagedLogIsNotShown: an event or a body that was changed in the file is
// refused by every read that would show it.
func TestDamagedLogIsNotShown(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"payload":       "UPDATE events SET payload=replace(payload,'execution_id','execution_ie') WHERE seq=2",
		"type":          "UPDATE events SET type=19 WHERE type=18",
		"type and 256":  "UPDATE events SET type=type+256 WHERE type=18",
		"time":          "UPDATE events SET at=at+1 WHERE seq=2",
		"cause":         "UPDATE events SET cause=zeroblob(16) WHERE seq=2",
		"a missing one": "DELETE FROM events WHERE seq=2",
		"hash":          "UPDATE events SET hash=zeroblob(32) WHERE seq=2",
		"a body":        "UPDATE events SET body=CAST(substr(body,1,3)||x'7e'||substr(body,5) AS BLOB) WHERE type=12",
		"a form":        "UPDATE events SET body=CAST(x'02'||substr(body,2) AS BLOB) WHERE substr(body,1,1)=x'01'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path, db := damagedDB(t, damage)
			shown, refused := readAll(t, path, db)
			if refused == 0 || shown == 0 {
				t.Errorf("%d reads were answered and %d refused, want some of each", shown, refused)
			}
		})
	}
}

// TestDamagedEventIsOnNoPage: wherever a page begins and ends, it does not show
// an event that was changed or took the place of one that is gone, and the other
// pages are shown as before.
func TestDamagedEventIsOnNoPage(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"changed": "UPDATE events SET at=at+1 WHERE seq=3",
		"moved":   "UPDATE events SET seq=1000000+seq WHERE seq=3",
		"gone":    "DELETE FROM events WHERE seq=3",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const damaged = 3
			path, db := damagedDB(t, damage)
			long := 0
			for no, x := range stored(t, path) {
				if x.events <= damaged {
					continue // it was the last, which only verify can miss
				}
				long++
				for after := range int64(x.events) {
					for limit := 1; int(after)+limit <= x.events; limit++ {
						covers := after < damaged && after+int64(limit) >= damaged
						based := after != damaged || name == "changed"
						page, err := db.Events(t.Context(), no, x.id, after, limit, nil)
						if covers || !based {
							if !errors.Is(err, store.ErrDamaged) {
								t.Errorf("%d events after %d: %d, %v; want %v", limit, after, len(page), err, store.ErrDamaged)
							}
						} else if err != nil || len(page) != limit {
							t.Errorf("%d events after %d: %d, %v", limit, after, len(page), err)
						}
					}
				}
			}
			if long == 0 {
				t.Error("no log was long enough")
			}
		})
	}
}

// damagedDB opens a filled file in which a statement has changed something.
func damagedDB(t *testing.T, damage string) (path string, db *sqlite.DB) {
	t.Helper()
	path = filled(t)
	raw(t, path, damage)
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return path, db
}

type storedLog struct {
	id     kernel.ExecutionID
	events int
}

// stored are the executions of a file by their numbers, and how far their logs go.
func stored(t *testing.T, path string) map[int64]storedLog {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := file.Query("SELECT no,id,(SELECT max(seq) FROM events WHERE execution_no=no AND seq<1000000) FROM executions")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	logs := make(map[int64]storedLog)
	for rows.Next() {
		var no int64
		var id []byte
		var x storedLog
		if err := rows.Scan(&no, &id, &x.events); err != nil {
			t.Fatal(err)
		}
		x.id.UUID = kernel.UUID(id)
		logs[no] = x
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return logs
}

// readAll reads the log and the bodies of every execution.
func readAll(t *testing.T, path string, db *sqlite.DB) (shown, refused int) {
	t.Helper()
	count := func(err error) {
		switch {
		case err == nil:
			shown++
		case errors.Is(err, store.ErrDamaged):
			refused++
		default:
			t.Errorf("a read failed with %v", err)
		}
	}
	for no, x := range stored(t, path) {
		for _, after := range []int64{0, 1, 2} {
			_, err := db.Events(context.Background(), no, x.id, after, 100, nil)
			count(err)
		}
		_, err := db.Steps(context.Background(), x.id)
		count(err)
	}
	return shown, refused
}
