package tui

import (
	"strings"
	"testing"
)

// TestFooterKeysWork: a key that is shown does something.
func TestFooterKeysWork(t *testing.T) {
	t.Parallel()
	for _, scene := range scenes {
		for _, b := range defaultKeys() {
			r := newRig(t, typical(), 300, 40)
			scene.open(r)
			r.online()
			if b.foot == "" || !b.active(r.m.screen) || !r.m.can(b.act) {
				continue
			}
			if !strings.Contains(r.m.footer(), r.m.word(b)) {
				t.Errorf("%s: the footer has no %s:\n%s", scene.name, b.foot, r.m.footer())
			}
			if b.act == actPager || b.act == actEdit { // other programs
				if r.m.act(b.act) == nil {
					t.Errorf("%s: %s (%s) starts nothing", scene.name, b.key.Help().Key, b.act)
				}
				continue
			}
			before := r.m.View()
			r.press(strings.Fields(b.key.Help().Key)[0])
			if r.m.View() == before {
				t.Errorf("%s: %s (%s) changes nothing", scene.name, b.key.Help().Key, b.act)
			}
		}
	}
}

// TestASleepConnectsAnew: when the clock jumped, connections are not trusted.
func TestASleepConnectsAnew(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 140, 40).online()
	r.openTypical()
	r.send(tickMsg(r.now))
	feed, tail := r.m.feed, r.m.de.tail
	r.now = r.now.Add(1e9)
	r.send(tickMsg(r.now))
	if r.m.feed != feed {
		t.Fatal("a new feed after one second")
	}
	r.now = r.now.Add(3600e9)
	r.send(tickMsg(r.now))
	if r.m.feed == feed || r.m.de.tail == tail {
		t.Fatal("the old connections after an hour of sleep")
	}
	if feed.ctx.Err() == nil || tail.ctx.Err() == nil {
		t.Fatal("the old connections are still open")
	}
	r.want("events 10")
}
