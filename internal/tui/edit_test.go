package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

const sound = "default_action: allow\nrules: []\n"

// drafted writes a text as the editor would have left it.
func (r *rig) drafted(text string) draft {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), "draft.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return draft{gen: r.m.gen, agent: "research", path: path, loaded: r.f.policy}
}

func agentsRig(t *testing.T, h int) *rig {
	t.Helper()
	r := newRig(t, typical(), 100, h, func(_ *Place, o *Options) { o.StateDir = t.TempDir() })
	r.f.policy = sound
	r.press("3")
	return r.online()
}

func TestAnEditIsShownAsADiffAndAskedAbout(t *testing.T) {
	t.Parallel()
	r := agentsRig(t, 24)
	d := r.drafted("# mine\n" + sound)
	r.send(editedMsg{draft: d})
	r.want("LOAD POLICY OF research", "+# mine")
	r.press("enter") // No is the default
	r.want("not loaded; the draft is ")
	if len(r.f.policies) > 0 {
		t.Fatalf("loaded %q", r.f.policies)
	}
	r.send(editedMsg{draft: d})
	r.press("tab", "enter")
	r.want("the policy of research is loaded", "# mine")
	if diff := cmp.Diff([]string{"research: # mine\n" + sound}, r.f.policies); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(d.path); !os.IsNotExist(err) {
		t.Errorf("the draft is still there: %v", err)
	}
}

func TestADraftThatIsNoPolicyIsNotOffered(t *testing.T) {
	t.Parallel()
	r := agentsRig(t, 24)
	d := r.drafted("rules:\n  - idd: x\n")
	r.send(editedMsg{draft: d})
	r.want("It cannot be loaded:", "2:5:", "Edit again")
	r.press("esc")
	r.want("the draft is ")
	if _, err := os.Stat(d.path); err != nil {
		t.Errorf("the work is lost: %v", err)
	}
	r.send(editedMsg{draft: r.drafted(sound)})
	r.want("nothing changed")
}

func TestAPolicyThatChangedMeanwhileIsNotOverwritten(t *testing.T) {
	t.Parallel()
	r := agentsRig(t, 24)
	r.send(editedMsg{draft: r.drafted("# mine\n" + sound)})
	r.f.policy = "# theirs\n" + sound
	r.press("tab", "enter")
	r.want("changed by somebody else meanwhile")
	if len(r.f.policies) > 0 {
		t.Errorf("loaded %q", r.f.policies)
	}
}

// TestALongDiffScrolls: the buttons stay on the screen, and all can be read.
func TestALongDiffScrolls(t *testing.T) {
	t.Parallel()
	r := agentsRig(t, 20)
	r.send(editedMsg{draft: r.drafted(strings.Repeat("# a line\n", 60) + "# the last line\n" + sound)})
	r.want("[ Load ]", "1-13 of")
	r.wantNot("+# the last line")
	for range 5 {
		r.press("pgdown")
	}
	r.want("[ Load ]", "+# the last line")
}

func TestAnEditNeedsTheRight(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(*Place, *Options){
		"place":  func(p *Place, _ *Options) { p.ReadOnly = true },
		"option": func(_ *Place, o *Options) { o.ReadOnly = true },
	} {
		r := newRig(t, typical(), 100, 24, edit)
		r.press("3")
		r.online()
		if r.m.can(actEdit) || strings.Contains(r.m.footer(), "edit") {
			t.Errorf("%s: E is offered", name)
		}
	}
}

func TestThePolicyIsTestedOnAFileOfCases(t *testing.T) {
	t.Parallel()
	r := agentsRig(t, 30)
	file := filepath.Join(t.TempDir(), "cases.yaml")
	if err := os.WriteFile(file, []byte("- {target: send_email, args: {to: x}, expect: deny}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.press("T")
	r.text(file)
	r.press("enter")
	want := []wire.PolicyTest{{Cases: []wire.PolicyCase{{Target: "send_email", Args: []byte(`{"to":"x"}`), Expect: wire.ActionDeny}}}}
	if d := cmp.Diff(want, r.f.tests); d != "" {
		t.Errorf("asked (-want +got):\n%s", d)
	}
	r.want("tested on ", "MISMATCH tool_call send_email: deny by mail")
	r.press("T") // the file is proposed again
	r.press("ctrl+u")
	r.text(id(2, 3)[28:])
	r.press("enter")
	if got := r.f.tests[len(r.f.tests)-1].ExecutionID; got != id(2, 3) {
		t.Errorf("tested on %s, want %s", got, id(2, 3))
	}
	r.press("T", "ctrl+u")
	r.text("/no/such.yaml")
	r.press("enter")
	r.want("read cases: open /no/such.yaml")
	r.press("!")
	r.want("Last errors", "/no/such.yaml")
}
