package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/sqlite"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/store/storetest"
)

var flips = flag.Int("sqlite.flips", 150, "how many bytes of the test's database to change; more than it has means each of them once")

// judged are the tables that Verify answers for: the log, and what follows from it.
var judged = []string{"events", "executions", "labels", "steps", "step_results", "approvals", "blocks", "parks", "signals", "retired"}

// dump is every value in the judged tables, read by SQLite alone.
func dump(path string) (string, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?mode=ro&immutable=1")
	if err != nil {
		return "", err
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	var b strings.Builder
	for _, table := range judged {
		if err := dumpTable(db, &b, table); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func dumpTable(db *sql.DB, to *strings.Builder, table string) error {
	// NOT INDEXED: the table itself, and not what an index says of it.
	rows, err := db.Query("SELECT * FROM " + table + " NOT INDEXED")
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		fmt.Fprintf(to, "%s %#v\n", table, values)
	}
	return rows.Err()
}

// TestVerifyFindsRawFlips flips bits of the bytes of the file: whenever that
// changes a value of the log, of a body or of a projection, or makes it
// unreadable, Verify says so.
func TestVerifyFindsRawFlips(t *testing.T) {
	t.Parallel()
	path := filled(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := dump(path)
	if err != nil {
		t.Fatal(err)
	}
	tries := *flips
	if raceEnabled { // which makes it ten times slower, and finds nothing in here
		tries = min(tries, 20)
	}
	r := rand.New(rand.NewPCG(1, 2))
	places := r.Perm(len(content))
	places = places[:min(tries, len(places))]
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	changed := 0
	for _, at := range places {
		bit := byte(1) << r.IntN(8)
		if _, err := f.WriteAt([]byte{content[at] ^ bit}, int64(at)); err != nil {
			t.Fatal(err)
		}
		got, dumpErr := dump(path)
		if dumpErr != nil || got != want {
			changed++
			if report, err := sqlite.Verify(context.Background(), path, sqlite.VerifyOptions{}); err == nil && report.OK() {
				t.Errorf("bit %#02x of byte %d (page %d) changed, and Verify says nothing: %v\n%s", bit, at, at/4096+1, dumpErr, lineDiff(want, got))
			}
		}
		if _, err := f.WriteAt(content[at:at+1], int64(at)); err != nil {
			t.Fatal(err)
		}
	}
	if changed < len(places)/10 {
		t.Errorf("%d of %d flips changed anything: the test has to hit more", changed, len(places))
	}
	t.Logf("%d of %d flips changed something", changed, len(places))
}

// lineDiff is how two texts differ, line by line.
func lineDiff(want, got string) string {
	return cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n"))
}

// served is everything that a database shows to its readers.
func served(ctx context.Context, db *sqlite.DB) (map[string]string, error) {
	all := make(map[string]string)
	show := func(key string, v any) {
		text, err := json.Marshal(v)
		all[key] = fmt.Sprint(string(text), err)
	}
	executions, _, err := db.Executions(ctx, store.ExecutionQuery{Limit: 1000})
	if err != nil {
		return nil, err
	}
	for i := range executions {
		x := &executions[i]
		show("execution "+x.ID.String(), x)
		steps, err := db.Steps(ctx, x.ID)
		if err != nil {
			return nil, err
		}
		show("steps "+x.ID.String(), steps)
		events, err := db.Events(ctx, x.No, x.ID, 0, 1000, nil)
		if err != nil {
			return nil, err
		}
		for j := range events {
			show(fmt.Sprintf("event %s %04d", x.ID, j+1), events[j])
		}
		if _, err := db.Execution(ctx, x.ID); err != nil {
			return nil, err
		}
	}
	approvals, err := db.Approvals(ctx, store.ApprovalQuery{Limit: 1000})
	if err != nil {
		return nil, err
	}
	show("approvals", approvals)
	agents, err := db.Agents(ctx)
	if err != nil {
		return nil, err
	}
	show("agents", agents)
	if _, err := db.InFlight(ctx, 0, 1000); err != nil {
		return nil, err
	}
	_, _, err = db.Timers(ctx, now(), 1000)
	return all, err
}

// fate is what becomes of a database that somebody damaged.
type fate struct {
	refused error             // by Open, or by a read
	shown   map[string]string // else
}

// try opens a damaged database, reads everything, and writes to it. However
// damaged it is, that must come to an end without a panic.
func try(t testing.TB, path string) fate {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		return fate{refused: err}
	}
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-ended; err != nil {
			t.Logf("Run: %v", err)
		}
	}()
	shown, err := served(ctx, db)
	if err != nil {
		return fate{refused: err}
	}
	_ = putAgent(db)                        // may be refused
	_, _ = create(db, []byte(`{"late":1}`)) // as well
	for id := range shown {
		if text, ok := strings.CutPrefix(id, "execution "); ok {
			if x, ok := kernel.ParseExecutionID(text); ok {
				_ = db.Update(ctx, func(tx store.Tx) error { _, _, err := tx.Load(x); return err })
			}
		}
	}
	return fate{shown: shown}
}

// says reports whether an error names what is wrong and what to do.
func says(err error) bool {
	for _, words := range []string{"damaged", "something else", "schema version", "schema migration", "newer build", "not let SQLite be durable", "cannot be written"} {
		if strings.Contains(err.Error(), words) {
			return true
		}
	}
	return false
}

// specimen is a database as a kill left it: a file, and a log that is not in it yet.
type specimen struct {
	file, log []byte
	tried     int
	shown     map[string]string // when nothing is damaged
}

// newSpecimen makes one in which everything has happened.
func newSpecimen(t testing.TB) *specimen {
	t.Helper()
	folder := t.TempDir()
	storetest.Fill(t, driver, folder)
	path := filepath.Join(folder, "kernel.db")
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	db, err := sqlite.Open(ctx, path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- db.Run(ctx) }()
	for range 20 {
		if _, err := create(db, []byte(`{"in":"the log"}`)); err != nil {
			t.Fatal(err)
		}
	}
	s := &specimen{}
	if s.file, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if s.log, err = os.ReadFile(path + "-wal"); err != nil {
		t.Fatal(err)
	}
	if s.shown, err = served(ctx, db); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(s.log) < 10<<10 || len(s.file) < 50<<10 {
		t.Fatalf("the file has %d bytes, its log %d: the test has to begin with more", len(s.file), len(s.log))
	}
	return s
}

// lay puts the files of a specimen into a folder.
func lay(t testing.TB, file, log, index []byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kernel.db")
	for name, content := range map[string][]byte{path: file, path + "-wal": log, path + "-shm": index} {
		if content == nil {
			continue
		}
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// judge tries damaged files. Either they are refused in words that help; or they
// show what they showed before; or less of it, for a log that is cut off is
// what an unfinished write looks like; or Verify finds that they are damaged.
func (s *specimen) judge(t testing.TB, what string, file, log, index []byte) {
	t.Helper()
	if s.tried++; raceEnabled && s.tried%10 != 0 { // which makes it ten times slower
		return
	}
	report, verifyErr := sqlite.Verify(context.Background(), lay(t, file, log, index), sqlite.VerifyOptions{})
	got := try(t, lay(t, file, log, index))
	switch {
	case got.refused != nil && says(got.refused), errors.Is(got.refused, store.ErrUnavailable):
	case got.refused != nil:
		t.Errorf("%s: refused with %v, which does not say what to do", what, got.refused)
	case verifyErr != nil || !report.OK(): // not silently
	default:
		if diff := s.compare(got.shown); diff != "" {
			t.Errorf("%s: Verify finds nothing, and what is shown differs:\n%s", what, diff)
		}
	}
}

// compare says how what is shown differs from an earlier state of the specimen.
func (s *specimen) compare(shown map[string]string) string {
	var wrong []string
	for key, got := range shown {
		want, ok := s.shown[key]
		switch {
		case !ok:
			wrong = append(wrong, "new: "+key)
		case strings.HasPrefix(key, "event "), strings.HasPrefix(key, "agents"):
			if got != want {
				wrong = append(wrong, cmp.Diff(want, got))
			}
		}
	}
	slices.Sort(wrong)
	return strings.Join(wrong, "\n")
}

// TestDamagedFiles cuts off and changes the files that a kill leaves.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	s := newSpecimen(t)
	s.judge(t, "as it was", s.file, s.log, nil)
	if got := try(t, lay(t, s.file, s.log, nil)); !cmp.Equal(got.shown, s.shown) {
		t.Fatalf("what is not damaged shows something else: %v %s", got.refused, cmp.Diff(s.shown, got.shown))
	}
	r := rand.New(rand.NewPCG(3, 4))
	for _, size := range sizes(r, len(s.file)) {
		s.judge(t, fmt.Sprintf("file of %d bytes", size), s.file[:size], s.log, nil)
		if size%2 == 0 {
			s.judge(t, fmt.Sprintf("file of %d bytes, no log", size), s.file[:size], nil, nil)
		}
	}
	for _, size := range sizes(r, len(s.log)) {
		s.judge(t, fmt.Sprintf("log of %d bytes", size), s.file, s.log[:size], nil)
	}
	for range 20 {
		at, bit := r.IntN(len(s.log)), byte(1)<<r.IntN(8)
		s.judge(t, fmt.Sprintf("bit %#02x of byte %d of the log", bit, at), s.file, flipped(s.log, at, bit), nil)
		at = r.IntN(len(s.file))
		s.judge(t, fmt.Sprintf("bit %#02x of byte %d of the file", bit, at), flipped(s.file, at, bit), s.log, nil)
	}
	for at := 0; at < 100; at += 3 { // the header of the file, which says what the rest is
		s.judge(t, fmt.Sprintf("byte %d of the header", at), flipped(s.file, at, 0xff), s.log, nil)
	}
	for at := 0; at < 32; at += 3 { // and that of the log
		s.judge(t, fmt.Sprintf("byte %d of the log's header", at), s.file, flipped(s.log, at, 0xff), nil)
	}
	garbage := make([]byte, 32<<10)
	for i := range garbage {
		garbage[i] = byte(r.IntN(256))
	}
	s.judge(t, "an index of garbage", s.file, s.log, garbage)
	s.judge(t, "an index of zeros", s.file, s.log, make([]byte, 32<<10))
	s.judge(t, "an index that is cut off", s.file, s.log, garbage[:1000])
	s.judge(t, "a log of garbage", s.file, garbage, nil)
	s.judge(t, "a file of garbage", garbage, nil, nil)
	s.judge(t, "a file of garbage, and a log", garbage, s.log, nil)
	s.judge(t, "an empty file, and a log", []byte{}, s.log, nil)
}

// sizes are lengths to cut something off at: at pages and beside them, and anywhere.
func sizes(r *rand.Rand, length int) []int {
	all := []int{0, 1, 31, 32, 33, 99, 100, 511, 512}
	for range 4 {
		page := r.IntN(length/4096+1) * 4096
		all = append(all, page, page+1, max(0, page-1), r.IntN(length))
	}
	return slices.DeleteFunc(all, func(n int) bool { return n > length })
}

func flipped(b []byte, at int, bits byte) []byte {
	c := slices.Clone(b)
	c[at] ^= bits
	return c
}
