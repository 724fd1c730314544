package tui

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

var update = flag.Bool("frames", false, "write the golden frames")

// sizes are those that frames are kept of.
var sizes = [][2]int{{60, 15}, {80, 24}, {140, 40}, {300, 80}}

// states are the conditions of the service that frames are kept of.
var states = []struct {
	name string
	make func() *fake
	then func(r *rig)
}{
	{"empty", func() *fake { return &fake{} }, func(r *rig) { r.online() }},
	{"typical", typical, func(r *rig) { r.online() }},
	{"offline", typical, func(r *rig) { r.online(); r.goOffline() }},
	{"modal", typical, func(r *rig) { r.online() }},
	{"long", longArgs, func(r *rig) { r.online() }},
	{"wide", wideText, func(r *rig) { r.online() }},
}

func (r *rig) goOffline() {
	r.now = r.now.Add(12 * time.Second)
	r.send(sourceMsg{r.m.feed, linkMsg(client.Link{Err: errors.New("connection refused"), Retry: 4 * time.Second})})
}

func longArgs() *fake {
	f := typical()
	long := `{"body":"` + strings.Repeat("many words and no end ", 200) + `","rows":[` + strings.TrimSuffix(strings.Repeat(`{"a":1,"b":[true,null]},`, 120), ",") + `]}`
	for i := range f.approvals {
		f.approvals[i].Args = []byte(long)
		f.approvals[i].Target = strings.Repeat("a_target_without_end_", 10)
		f.approvals[i].Reason = strings.Repeat("a reason that goes on and on ", 30)
	}
	for _, steps := range f.steps {
		steps[1].Args, steps[1].Result = []byte(long), []byte(long)
	}
	for i := range f.executions {
		f.executions[i].Input = []byte(long)
	}
	return f
}

func wideText() *fake {
	f := typical()
	text := "承認してください e\u0301e\u0301 👩‍👩‍👧 שלום 한국어 \u202eback"
	for i := range f.approvals {
		f.approvals[i].Args = wireJSON(map[string]string{"見出し": text, "body": strings.Repeat(text, 6)})
		f.approvals[i].Target = "送信_" + text
		f.approvals[i].Reason = text
		f.approvals[i].AgentID = "担当者エージェント"
	}
	for i := range f.executions {
		f.executions[i].AgentID = "担当者エージェント"
		f.executions[i].Labels = wire.Labels{"地域": "東京"}
		f.executions[i].Input = wireJSON(text)
	}
	for _, steps := range f.steps {
		steps[1].Target = text
		steps[1].Result = wireJSON(text)
	}
	f.agents[0].ID = "担当者エージェント"
	f.policy = "# " + text + "\n" + f.policy
	return f
}

func wireJSON(v any) []byte {
	b, err := wire.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// scenes are the screens that frames are kept of.
var scenes = []struct {
	name  string
	open  func(r *rig)
	modal func(r *rig)
}{
	{"approvals", func(r *rig) { r.press("1") }, func(r *rig) { r.press("g") }},
	{"executions", func(r *rig) { r.press("2") }, func(r *rig) { r.press("x") }},
	{"agents", func(r *rig) { r.press("3"); r.online(); r.press("T", "enter") }, func(r *rig) { r.press("?") }},
	{"metrics", func(r *rig) { r.press("4") }, func(r *rig) { r.press("?") }},
	{"detail", func(r *rig) { r.openTypical() }, func(r *rig) { r.press("d") }},
	{"steps", func(r *rig) { r.openTypical(); r.press("t") }, func(r *rig) { r.press("?") }},
	{"output", func(r *rig) { r.openTypical(); r.press("o") }, func(r *rig) { r.press(":"); r.text("ex bl") }},
	{"input", func(r *rig) { r.openTypical(); r.press("i") }, func(r *rig) { r.press("x") }},
	{"card", func(r *rig) { r.openTypical(); r.press("t", "up", "enter", "z") }, func(r *rig) { r.press("!") }},
	{"preview", func(r *rig) { r.press("1", "tab", "j") }, func(r *rig) { r.press("y") }},
	{"bulk", func(r *rig) { r.press("1"); r.online(); r.press("j", "a") }, func(r *rig) { r.press("d") }},
	{"diverge", func(r *rig) { r.run(r.m.openDiverge([2]string{id(2, 1), id(2, 2)})) }, func(r *rig) { r.press("?") }},
}

func TestGoldenFrames(t *testing.T) {
	t.Setenv("TZ", "UTC") // set before any time is shown; so these do not run in parallel with each other
	time.Local = time.UTC
	for _, scene := range scenes {
		for _, state := range states {
			var out strings.Builder
			for _, size := range sizes {
				r := newRig(t, state.make(), size[0], size[1])
				scene.open(r)
				state.then(r)
				if state.name == "modal" {
					scene.modal(r)
				}
				fmt.Fprintf(&out, "%dx%d\n%s\n", size[0], size[1], r.frame())
			}
			golden(t, scene.name+"-"+state.name+".txt", out.String())
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "frames", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // it is committed
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got), go test -frames writes it:\n%s", name, d)
	}
}

// TestEverySize draws every screen in every state at every size there may be.
func TestEverySize(t *testing.T) {
	t.Parallel()
	for _, state := range states {
		for _, scene := range scenes {
			r := newRig(t, state.make(), 100, 30)
			scene.open(r)
			state.then(r)
			if state.name == "modal" {
				scene.modal(r)
			}
			for w := 1; w <= 200; w += 7 {
				for h := 1; h <= 60; h += 4 {
					r.resize(w, h)
					r.frame()
				}
			}
		}
	}
}
