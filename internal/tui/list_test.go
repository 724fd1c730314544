package tui

import (
	"fmt"
	"slices"
	"testing"
)

func TestListKeepsTheSelectionAndItsLine(t *testing.T) {
	t.Parallel()
	ids := func(from, to int) (out []string) {
		for i := from; i < to; i++ {
			out = append(out, fmt.Sprintf("%03d", i))
		}
		return out
	}
	l := list{}
	l.size(10)
	l.set(ids(100, 200))
	for range 30 {
		l.act(actDown)
	}
	line := l.at - l.top
	l.set(ids(90, 200)) // ten new rows above
	if l.cur != "130" || l.at-l.top != line {
		t.Errorf("cursor on %s at line %d, want 130 at %d", l.cur, l.at-l.top, line)
	}
	l.set(slices.DeleteFunc(ids(90, 200), func(s string) bool { return s == "130" }))
	if l.cur != "131" {
		t.Errorf("cursor on %s, want the one in the place of 130", l.cur)
	}
	l.set(nil)
	l.act(actDown)
	if l.cur != "" || len(l.window()) != 0 {
		t.Errorf("an empty list has a cursor on %q", l.cur)
	}
	l.set(ids(0, 3))
	if l.cur != "000" || len(l.window()) != 3 {
		t.Errorf("cursor on %q, %d rows", l.cur, len(l.window()))
	}
}

func TestFilter(t *testing.T) {
	t.Parallel()
	r := row{hay: "9f3a send_email research", status: "blocked", agent: "research", rule: "mail-out", target: "send_email", labels: map[string]string{"env": "prod"}}
	for in, want := range map[string]bool{
		"": true, "EMAIL": true, "nothing": false, "status:blo": true, "status:running": false, "agent:res rule:mail": true,
		"label:env=prod": true, "label:env=pro": false, "label:prod": true, "target:send status:": true, "http://x": false,
	} {
		if got := parseFilter(in).match(r); got != want {
			t.Errorf("%q matches: %v, want %v", in, got, want)
		}
	}
}

func TestKeymapRefusesDoubles(t *testing.T) {
	t.Parallel()
	if _, err := newKeymap(nil); err != nil {
		t.Fatal(err)
	}
	if _, err := newKeymap(map[string]string{"grant": "d"}); err == nil {
		t.Error("d means both grant and deny")
	}
	if _, err := newKeymap(map[string]string{"fly": "w"}); err == nil {
		t.Error("there is no action fly")
	}
	m, err := newKeymap(map[string]string{"grant": "ctrl+g", "deny": "g"})
	if err != nil {
		t.Fatal(err)
	}
	if a, _ := m.find(scrApprovals, "g"); a != actDeny {
		t.Errorf("g is %s, want deny", a)
	}
}

func TestLettersThatArriveTogetherAreKeys(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("/agent:ops")
	r.want("/ agent:ops", "drop_table")
	r.wantNot("http_post")
	r.press("enter")
	r.want("filter agent:ops: 2 of 4")
	r.press("esc")
	r.want("http_post")
}
