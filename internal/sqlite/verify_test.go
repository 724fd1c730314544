package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store/storetest"
)

// filled is the path of a closed database in which everything has happened.
func filled(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	storetest.Fill(t, driver, folder)
	return filepath.Join(folder, "kernel.db")
}

func verify(t *testing.T, path string) sqlite.Report {
	t.Helper()
	report, err := sqlite.Verify(context.Background(), path, sqlite.VerifyOptions{})
	if err != nil {
		t.Fatalf("Verify: %v", err)
	}
	return report
}

func TestVerify(t *testing.T) {
	t.Parallel()
	path := filled(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	report := verify(t, path)
	if !report.OK() {
		t.Fatalf("problems in a sound database: %v", report.Problems)
	}
	if report.Executions < 10 || report.Events < 50 || report.Bodies < 20 || report.Rows < 50 || report.Erased != 0 {
		t.Errorf("Verify looked at %+v, want everything", report)
	}
	after, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, after) {
		t.Error("Verify changed the file")
	}
	// Erasing what another body refers to erases that one, too.
	raw(t, path, "UPDATE events SET body=NULL WHERE pos=(SELECT min(pos) FROM events WHERE length(body)>2000 AND type=12)")
	if report := verify(t, path); !report.OK() || report.Erased < 2 {
		t.Errorf("after the first of a conversation was erased: %+v, want more than one gone and no problem", report)
	}
	raw(t, path, "UPDATE events SET body=NULL WHERE type=12")
	if report := verify(t, path); !report.OK() || report.Erased == 0 {
		t.Errorf("after bodies were erased: %+v, want no problem", report)
	}
}

// TestVerifyFindsEveryFlip changes one byte, or one bit of a number, in every
// column of rows of the log and of every projection.
func TestVerifyFindsEveryFlip(t *testing.T) {
	t.Parallel()
	path := filled(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []struct {
		name string
		rows string // which, of many
	}{
		{"events", "pos IN (SELECT min(pos) FROM events GROUP BY type) OR pos=(SELECT max(pos) FROM events) OR substr(body,1,1)<x'03'"},
		{"executions", "1"},
		{"labels", "1"},
		{"steps", "no%3=0"},
		{"step_results", "step_no%3=0"},
		{"approvals", "1"},
		{"blocks", "1"},
		{"parks", "1"},
		{"signals", "1"},
	} {
		t.Run(table.name, func(t *testing.T) {
			t.Parallel()
			copied := filepath.Join(t.TempDir(), "kernel.db")
			if err := os.WriteFile(copied, content, 0o600); err != nil {
				t.Fatal(err)
			}
			f := openFlipper(t, copied, table.name)
			rows := f.rows(t, table.rows)
			if raceEnabled { // which makes it ten times slower, and finds nothing in here
				rows = rows[:1]
			}
			for _, row := range rows {
				for _, column := range f.columns {
					undo := f.flip(t, row, column)
					if undo == "" {
						continue // NULL
					}
					if report := verify(t, copied); report.OK() {
						t.Errorf("%s.%s of row %v was changed, and Verify says nothing", table.name, column, row)
					}
					f.exec(t, undo)
				}
			}
			if report := verify(t, copied); !report.OK() {
				t.Fatalf("the test does not undo its changes: %v", report.Problems)
			}
		})
	}
}

// flipper changes single values.
type flipper struct {
	db      *sql.DB
	table   string
	columns []string
	keys    []string // that name a row
}

func openFlipper(t *testing.T, path, table string) *flipper {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := &flipper{db: db, table: table}
	rows, err := db.Query("SELECT name, pk>0 FROM pragma_table_info(?)", table)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var key bool
		if err := rows.Scan(&name, &key); err != nil {
			t.Fatal(err)
		}
		f.columns = append(f.columns, name)
		if key {
			f.keys = append(f.keys, name)
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// rows are conditions, one a row.
func (f *flipper) rows(t *testing.T, where string) []string {
	t.Helper()
	var parts []string
	for _, key := range f.keys {
		parts = append(parts, fmt.Sprintf("'%s='||quote(%s)", key, key))
	}
	rows, err := f.db.Query("SELECT " + strings.Join(parts, "||' AND '||") + " FROM " + f.table + " WHERE " + where)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var all []string
	for rows.Next() {
		var row string
		if err := rows.Scan(&row); err != nil {
			t.Fatal(err)
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil || len(all) == 0 {
		t.Fatalf("rows of %s: %d, %v", f.table, len(all), err)
	}
	return all
}

// flip changes a value and returns the statement that undoes it, "" for NULL.
func (f *flipper) flip(t *testing.T, row, column string) (undo string) {
	t.Helper()
	var was string
	var value any
	if err := f.db.QueryRow("SELECT quote("+column+"),"+column+" FROM "+f.table+" WHERE "+row).Scan(&was, &value); err != nil {
		t.Fatalf("%s.%s of %s: %v", f.table, column, row, err)
	}
	switch v := value.(type) {
	case nil:
		return ""
	case int64:
		value = v ^ 1<<20 // far from a neighbour that could be in its place
	case []byte:
		value = flipByte(v)
	case string:
		value = string(flipByte([]byte(v)))
	}
	if _, err := f.db.Exec("UPDATE "+f.table+" SET "+column+"=? WHERE "+row, value); err != nil {
		t.Fatalf("%s.%s of %s: %v", f.table, column, row, err)
	}
	var now string
	if err := f.db.QueryRow("SELECT quote(?)", value).Scan(&now); err != nil {
		t.Fatal(err)
	}
	where := row
	for _, key := range f.keys {
		if key == column {
			where = strings.Replace(row, key+"="+was, key+"="+now, 1)
		}
	}
	return "UPDATE " + f.table + " SET " + column + "=" + was + " WHERE " + where
}

func (f *flipper) exec(t *testing.T, statement string) {
	t.Helper()
	res, err := f.db.Exec(statement)
	if err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s: %d rows, %v", statement, n, err)
	}
}

func flipByte(b []byte) []byte {
	if len(b) == 0 {
		return []byte{'x'}
	}
	flipped := bytes.Clone(b)
	flipped[len(b)/2] ^= 1
	return flipped
}
