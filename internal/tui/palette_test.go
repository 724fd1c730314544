package tui

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
)

// command types a line into the palette.
func (r *rig) command(line string) {
	r.press(":")
	r.text(line)
	r.press("enter")
}

func TestPalette(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"ap":                      "[1 Approvals 4]",
		"ap rule:egress":          "http_post",
		"ex bl":                   "filter bl: ",
		"ex blocked":              "filter status:blocked: 4 of 9",
		"ag ops":                  ">  ops",
		"agents nobody":           "there is no agent nobody",
		"top":                     "[4 Metrics]",
		"met":                     "[4 Metrics]", // the only one that begins so
		"open " + id(2, 1):        " < 00000001  research",
		"open 000200000005":       " < 00000005",
		"open abc":                "at least four characters",
		"open nothing-like-it":    "no execution that is loaded matches",
		"open execution/00000006": " < 00000006",
		"by":                      "by needs a name",
		"by bob":                  "you are bob now",
		"theme light":             "theme light",
		"theme pink":              `theme "pink": want one of`,
		"mouse":                   "mouse on",
		"errors":                  "None since 12:00:00",
		"help":                    "Keys of approvals",
		"ctx":                     "contexts: ",
		"nonsense":                "there is no command nonsense",
	} {
		r := newRig(t, typical(), 140, 40).online()
		r.command(line)
		if !strings.Contains(r.frame(), want) {
			t.Errorf(":%s lacks %q:\n%s", line, want, r.frame())
		}
	}
	r := newRig(t, typical(), 140, 40).online()
	r.command("open 01930c2e")
	r.want("9 executions match 01930c2e")
	r.command("q")
	if !r.quit {
		t.Error(":q does not quit")
	}
}

func TestThePaletteCompletes(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 140, 40, func(_ *Place, o *Options) { o.Contexts = []string{"prod", "prod-eu", "dev"} }).online()
	for typed, want := range map[string]string{
		"exe": "executions ", "ex bl": "ex blocked", "ag re": "ag research", "ctx p": "ctx prod", "ctx prod-": "ctx prod-eu", "theme l": "theme light", "zz": "zz",
	} {
		r.press(":")
		r.text(typed)
		r.press("tab")
		if got := string(r.m.prompt.field.runes); got != want {
			t.Errorf("%q and tab is %q, want %q", typed, got, want)
		}
		r.press("esc")
	}
}

// TestContextsSwitchWhileOffline: nothing of the old place stays, and the new
// one says what it is.
func TestContextsSwitchWhileOffline(t *testing.T) {
	t.Parallel()
	other := typical()
	other.approvals = other.approvals[:1]
	dial := func(_ context.Context, name string) (Place, error) {
		if name != "prod" {
			return Place{}, errors.New("there is no such context")
		}
		return Place{Name: "prod", Client: other, Color: "red", ReadOnly: true}, nil
	}
	r := newRig(t, typical(), 100, 24, func(_ *Place, o *Options) { o.Dial, o.Theme = dial, "ansi" }).online()
	r.openTypical()
	r.press("1", "a")
	r.goOffline()
	r.want("offline")
	r.command("ctx nowhere")
	r.want("context nowhere: there is no such context", "dev  127.0.0.1")
	r.command("ctx prod")
	r.want("prod  127.0.0.1:8080  read-only", "connecting to", "at prod now", "Nothing was heard of the server yet")
	if !strings.HasPrefix(r.m.View(), "\x1b[41;97m") {
		t.Error("the header is not painted in the colour of the context")
	}
	r.online()
	r.want("[1 Approvals 1]")
	r.press("g")
	r.want("read-only: nothing can be decided here")
	r.press("2", "x")
	r.want("read-only: nothing can be cancelled here")
	if keys := r.m.footer(); strings.Contains(keys, "grant") || strings.Contains(keys, "cancel run") {
		t.Errorf("the footer offers %s", keys)
	}
	r.press("?")
	r.wantNot("grant: the row")
	r.posts()
}

func TestTheEndOfTheFeed(t *testing.T) {
	t.Parallel()
	refused := func(status int) error { return &client.Error{Status: status, Message: "no"} }
	r := newRig(t, typical(), 100, 24).online()
	feed := r.m.feed
	r.send(sourceMsg{r.m.feed, refusedMsg{refused(401)}})
	r.want("token refused by http://127.0.0.1:8080; :ctx NAME switches, r tries again")
	for range 60 { // and nothing is tried meanwhile
		r.now = r.now.Add(time.Second)
		r.send(tickMsg(r.now))
	}
	if r.m.feed != feed {
		t.Error("a refused token was tried again")
	}
	r.press("r")
	if r.m.feed == feed {
		t.Error("r does not try again")
	}
	r.online()
	r.wantNot("token refused")

	r.send(sourceMsg{r.m.feed, refusedMsg{refused(404)}})
	r.want("polling")
	r.f.approvals = r.f.approvals[:1]
	for range 2 {
		r.now = r.now.Add(time.Second)
		r.send(tickMsg(r.now))
	}
	r.want("[1 Approvals 1]")

	r = newRig(t, typical(), 100, 24).online()
	feed = r.m.feed
	r.send(sourceMsg{r.m.feed, refusedMsg{refused(500)}})
	r.want("offline", "retry in")
	for range 6 {
		r.now = r.now.Add(time.Second)
		r.send(tickMsg(r.now))
	}
	if r.m.feed == feed {
		t.Error("a feed that ended is not opened again")
	}
}

func TestCopies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		keys []string
		want string
	}{
		{[]string{"1", "y", "i"}, id(1, 1)},
		{[]string{"1", "y", "e"}, id(2, 1)},
		{[]string{"1", "y", "s"}, id(3, 1)},
		{[]string{"1", "y", "a"}, string(typical().approvals[0].Args)},
		{[]string{"2", "home", "y", "i"}, id(2, 0)},
		{[]string{"3", "y", "i"}, "research"},
		{[]string{"1", "enter", "t", "home", "y", "s"}, id(4, 1)},
		{[]string{"1", "enter", "t", "home", "y", "a"}, `{"prompt":"hi"}`},
		{[]string{"1", "enter", "i", "y", "a"}, `{"task":"send the Q3 report"}`},
	} {
		r := newRig(t, typical(), 140, 40).online()
		r.press(tc.keys...)
		if r.copy != tc.want {
			t.Errorf("%v copied %q, want %q", tc.keys, r.copy, tc.want)
		}
		r.want("by test")
	}
	r := newRig(t, typical(), 140, 40).online()
	r.press("1", "y", "j")
	if !strings.Contains(r.copy, `"rule_id":"mail-out"`) {
		t.Errorf("y j copied %q", r.copy)
	}
	r.press("2", "y", "a")
	r.want("there is no args here")
	r.press("y", "x") // no such thing: nothing happens
	r.wantNot("copy: i id")
	empty := newRig(t, &fake{}, 100, 24).online()
	empty.press("2", "y", "i")
	if empty.copy != tryCreate {
		t.Errorf("the empty list copied %q", empty.copy)
	}
}

func TestCancelling(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 100, 24).online()
	r.press("2", "x", "enter") // No
	r.press("x", "tab", "enter")
	if !slices.Equal(r.f.cancelled, []string{id(2, 0)}) {
		t.Fatalf("cancelled %v", r.f.cancelled)
	}
	r.want("cancelled 00000000")
	r.f.refuse = &client.Error{Status: 409}
	r.press("x", "tab", "enter")
	r.want("not cancelled: 00000000 has ended")
	r.press("end", "k", "k", "x") // the newest stand at the top
	r.want("failed already")
}

// TestEscGoesOneStepBack: out of the card, the filter, the screen.
func TestEscGoesOneStepBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 140, 40).online()
	r.openTypical()
	r.press("/")
	r.text("step")
	r.press("enter", "enter")
	if r.m.de.focus != paneCard {
		t.Fatal("enter does not go into the card")
	}
	r.press("esc")
	r.want("filter step: 4 of 10")
	r.press("esc")
	r.want("=== events 10")
	r.press("esc")
	r.want("[1 Approvals 4]") // where it was opened
}

func TestBordersOfUnicode(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 140, 40, func(_ *Place, o *Options) { o.Borders = "unicode" }).online()
	r.want("────", "│ ─── 00000001 ")
	r.press("tab")
	r.want("═══ args")
	r.press("g")
	r.want("┌── GRANT", "└──")
	r.frame()
}

func TestUnknownBordersAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := NewModel(t.Context(), Place{Client: typical()}, Options{Borders: "round"}, true); err == nil || !strings.Contains(err.Error(), "want ascii or unicode") {
		t.Errorf("got %v", err)
	}
}
