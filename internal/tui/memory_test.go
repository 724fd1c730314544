package tui

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
)

func TestTheScreenOfLastTimeComesAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	in := func(_ *Place, o *Options) { o.StateDir = dir }
	r := newRig(t, typical(), 140, 40, in)
	end := r.m.settleState()
	r.online()
	r.press("s", "p", "2", "s", "S", "/")
	r.text("status:blocked")
	r.press("enter", "enter") // into an execution: its list is remembered
	end()

	r = newRig(t, typical(), 140, 40, in)
	end = r.m.settleState()
	r.online()
	r.want("[2 Executions]", "UPDATED v", "the filter of last time is on: status:blocked")
	r.wantNot("completed")
	r.press("3", "[") // the way back begins where it was
	r.want("[2 Executions]")
	if r.m.ap.preview || apSorts[r.m.ap.sort].name != "age" {
		t.Errorf("approvals: preview %v, sorted by %s", r.m.ap.preview, apSorts[r.m.ap.sort].name)
	}
	end()

	r = newRig(t, typical(), 140, 40, in, func(_ *Place, o *Options) { o.Screen = "metrics" })
	end = r.m.settleState()
	r.want("[4 Metrics]") // what is asked for wins, this once
	end()
	if s, err := loadMemory(dir); err != nil || s.Screen != "executions" {
		t.Errorf("remembered %q, %v; want executions", s.Screen, err)
	}
	if info, err := os.Stat(memoryFile(dir)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v %v", info.Mode(), err)
	}
}

func TestABrokenMemoryIsSaidAndForgotten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(memoryFile(dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, typical(), 100, 24, func(_ *Place, o *Options) { o.StateDir = dir })
	defer r.m.settleState()()
	r.want("[1 Approvals]", "tui.json: unexpected end")
}

// TestErrorsOutliveTheDashboard: the log has what was said for five seconds.
func TestErrorsOutliveTheDashboard(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "not", "yet", "there")
	path := filepath.Join(dir, "tui.log")
	r := newRig(t, typical(), 100, 24, func(_ *Place, o *Options) { o.StateDir = dir })
	end := r.m.settleState()
	r.online()
	r.m.fail(errors.New("a strange thing"))
	r.goOffline()
	end()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := "2026-11-21T12:00:00Z a strange thing\n2026-11-21T12:00:12Z connection lost: connection refused\n"
	if d := cmp.Diff(want, string(b)); d != "" {
		t.Errorf("the log (-want +got):\n%s", d)
	}
	// A large one is begun anew.
	if err := os.WriteFile(path, make([]byte, logSize+1), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 * logQueue { // more than can wait are left out, and nobody waits
		j.note(noon, strings.Repeat("x", 10))
	}
	j.close()
	now, errNow := os.Stat(path)
	old, errOld := os.Stat(path + ".1")
	if errNow != nil || errOld != nil || now.Size() == 0 || now.Size() > 3*logQueue*40 || old.Size() != logSize+1 {
		t.Errorf("the log has %v bytes (%v), the old one %v (%v)", now, errNow, old, errOld)
	}
}

// TestItRingsWhenNobodyLooks: at most every five seconds, and only then.
func TestItRingsWhenNobodyLooks(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	arrive := func(n int) {
		a := r.f.approvals[0]
		a.ID = id(6, n)
		r.f.approvals = append(r.f.approvals, a)
		r.feed(change{exec: a.ExecutionID, approval: a.ID, approvals: "pending"})
	}
	arrive(1)
	if r.bells != 0 {
		t.Fatal("it rings although somebody looks")
	}
	r.send(tea.BlurMsg{})
	arrive(2)
	arrive(3)
	if r.bells != 1 {
		t.Fatalf("%d bells, want 1", r.bells)
	}
	r.now = r.now.Add(6 * time.Second)
	arrive(4)
	if r.bells != 2 {
		t.Fatalf("%d bells, want 2", r.bells)
	}
	r.send(tea.FocusMsg{})
	r.now = r.now.Add(6 * time.Second)
	arrive(5)
	if r.bells != 2 {
		t.Error("it rings although somebody looks again")
	}
	if r.m.titled != "(9) kernelctl" {
		t.Errorf("the title is %q", r.m.titled)
	}
	r.feed(change{exec: id(2, 1), approval: id(6, 5), approvals: "granted", by: "bob"})
	if r.m.titled != "(8) kernelctl" {
		t.Errorf("the title is %q after a decision elsewhere", r.m.titled)
	}
}
