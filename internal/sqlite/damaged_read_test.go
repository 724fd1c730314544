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
			path := filled(t)
			raw(t, path, damage)
			db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			shown, refused := readAll(t, path, db)
			if refused == 0 || shown == 0 {
				t.Errorf("%d reads were answered and %d refused, want some of each", shown, refused)
			}
		})
	}
}

// readAll reads the log and the bodies of every execution.
func readAll(t *testing.T, path string, db *sqlite.DB) (shown, refused int) {
	t.Helper()
	file, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	rows, err := file.Query("SELECT no,id FROM executions")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
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
	for rows.Next() {
		var no int64
		var id []byte
		if err := rows.Scan(&no, &id); err != nil {
			t.Fatal(err)
		}
		var execution kernel.ExecutionID
		copy(execution.UUID[:], id)
		for _, after := range []int64{0, 1, 2} {
			_, err := db.Events(context.Background(), no, execution, after, 100)
			count(err)
		}
		_, err := db.Steps(context.Background(), execution)
		count(err)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return shown, refused
}
