package tui

import (
	"errors"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func (r *rig) posts(want ...posted) {
	r.t.Helper()
	if d := cmp.Diff(want, r.f.posts, cmp.AllowUnexported(posted{})); d != "" {
		r.t.Fatalf("posts (-want +got):\n%s\n%s", d, r.frame())
	}
}

func TestGrantTakesThreeSteps(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g")
	r.want("GRANT 00000001", "Grant as alice", "outbound mail needs a person", `"to": "ceo@x.com"`)
	r.posts()
	r.press("enter")
	r.posts()
	r.press("enter")
	r.posts(posted{"grant", id(1, 1), "alice", ""})
	r.want("granted 00000001  send_email")
	r.wantNot("GRANT")
}

func TestKeysThatCameTooEarlyDecideNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	for _, k := range []string{"g", "enter", "enter", "enter"} { // typed ahead
		r.now = r.now.Add(50 * time.Millisecond)
		r.send(keyMsg(k))
	}
	r.posts()
	r.want("GRANT")
	// A key that repeats goes to the button and no further.
	r.now = r.now.Add(time.Second)
	for range 20 {
		r.now = r.now.Add(30 * time.Millisecond)
		r.send(keyMsg("enter"))
	}
	r.posts()
}

func TestTheButtonAnswersToEnterOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g", "enter")
	r.press("g", "d", "y", " ", "x", "G", "1", "q")
	r.now = r.now.Add(time.Second)
	r.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("\n\n"), Paste: true})
	r.posts()
	r.want("GRANT")
}

func TestTabToTheButtonNeedsTwoEntersToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g", "shift+tab", "enter")
	r.posts()
	r.press("enter")
	r.posts(posted{"grant", id(1, 1), "alice", ""})
}

// TestKeysOfThoseWhoMayNotDecideAreDim: the card beside them says who may.
func TestKeysOfThoseWhoMayNotDecideAreDim(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 100, 24, func(p *Place, o *Options) { p.By, o.Theme = "eve", "ansi" }).online()
	dim := "\x1b[2mg grant\x1b[0m"
	if !strings.Contains(r.m.footer(), dim) {
		t.Errorf("eve is offered %q", r.m.footer())
	}
	r.want("(not you: eve)")
	r.press("j") // anyone may decide this one
	if strings.Contains(r.m.footer(), dim) {
		t.Errorf("eve is not offered what anyone may: %q", r.m.footer())
	}
}

func TestTheModalKeepsItsApproval(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("j", "g") // the second row
	r.want("GRANT 00000002")
	sooner := r.f.approvals[0]
	sooner.ID, sooner.Target, sooner.TimeoutAt = id(1, 77), "wipe", wire.At(noon.Add(20*time.Second))
	r.f.approvals = append([]wire.Approval{sooner}, r.f.approvals...)
	r.feed(change{exec: id(2, 7), approval: id(1, 77), approvals: wire.ApprovalPending})
	r.feed(change{exec: id(2, 1), approval: id(1, 1), approvals: wire.ApprovalDenied, by: "bob", at: wire.At(noon)})
	r.press("enter", "enter")
	r.posts(posted{"grant", id(1, 2), "alice", ""})
}

func TestDecidedMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g", "enter")
	r.feed(change{exec: id(2, 1), approval: id(1, 1), approvals: wire.ApprovalGranted, by: "bob", at: wire.At(r.now.Add(-2 * time.Second))})
	r.want("granted by bob 2s ago")
	r.press("enter", "enter")
	r.posts()
}

func TestExpiredMeanwhile(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g", "enter")
	r.now = noon.Add(time.Minute)
	r.press("enter")
	r.want("expired")
	r.posts()
}

func TestDenyNeedsARationale(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("d", "enter", "enter")
	r.want("a rationale is needed")
	r.posts()
	r.press("shift+tab", "shift+tab", "shift+tab") // back over cancel and the name
	r.text("wrong list")
	r.press("enter", "enter")
	r.posts(posted{"deny", id(1, 1), "alice", "wrong list"})
}

func TestNotAnApprover(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24, func(p *Place, _ *Options) { p.By = "eve" }).online()
	r.press("g", "enter", "enter")
	r.want("eve may not decide: approvers are alice, bob")
	r.posts()
	r.press("esc", "g", "tab")
	r.press("ctrl+u")
	r.text("bob")
	r.press("enter", "enter", "enter")
	r.posts(posted{"grant", id(1, 1), "bob", ""})
}

func TestNobodyDecides(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24, func(p *Place, _ *Options) { p.By = "" }).online()
	r.press("j", "g", "enter", "enter", "enter")
	r.want("who decides?")
	r.posts()
}

func TestLinesThatWereNotSeenAreCounted(t *testing.T) {
	t.Parallel()
	f := typical()
	f.approvals[0].Args = []byte(`{"list":[` + strings.TrimSuffix(strings.Repeat("1,", 60), ",") + `]}`)
	r := newRig(t, f, 80, 24).online()
	r.press("g")
	r.want("of 64)", "lines not shown")
	for range 12 {
		r.press("pgdown")
	}
	r.wantNot("not shown")
	r.press("pgup")
	r.wantNot("not shown")
}

func TestArgumentsTooLongToShowAreCounted(t *testing.T) {
	t.Parallel()
	f := typical()
	f.approvals[0].Args = []byte(`"` + strings.Repeat("x", 200<<10) + `"`)
	r := newRig(t, f, 80, 24).online()
	r.press("g")
	r.want("bytes too many to show")
}

func TestHostileArgumentsAreShown(t *testing.T) {
	t.Parallel()
	f := typical()
	f.approvals[0].Args = []byte("{\"to\":\"\u202emoc.live@ynnep\",\"x\":\"\u009b2J\"}")
	f.approvals[0].Target = "send\x1b[2J_email"
	r := newRig(t, f, 80, 24).online()
	r.want(`send\x1b[2J_em`)
	r.press("g")
	r.want(`\u202emoc.live`, `\x9b2J`, "! ")
	if v := r.m.View(); strings.ContainsAny(v, "\u202e\u009b") || strings.Contains(v, "\x1b[2J") {
		t.Errorf("the frame holds what acts on the terminal: %q", v)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24, func(p *Place, _ *Options) { p.ReadOnly = true }).online()
	r.wantNot("g grant", "d deny")
	r.want("read-only")
	r.press("g", "enter", "enter")
	r.posts()
}

func TestOffline(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g", "enter")
	r.send(sourceMsg{r.m.feed, linkMsg(client.Link{Err: errors.New("connection refused"), Retry: 4 * time.Second})})
	r.press("enter")
	r.posts()
	r.press("esc")
	r.want("offline", "connection refused", "send_email") // data stays
	r.wantNot("g grant")
	r.online()
	r.want("g grant", "live")
}

func TestBulkNeedsTheCount(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("j", "a") // both drop_table of ops
	r.want("g grant 2 marked", "marked 2")
	r.press("g", "enter", "enter")
	r.want("GRANT 2 approvals", "1. 00000002", "users_old", "type 2 to go on")
	r.press("enter")
	r.posts()
	r.press("shift+tab", "shift+tab") // over cancel to the count
	r.text("2")
	r.press("enter", "enter")
	r.posts(posted{"grant", id(1, 2), "alice", ""}, posted{"grant", id(1, 4), "alice", ""})
	r.want("granted 2")
}

func TestBulkGrantIsForOneKind(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press(" ", " ", "g")
	r.want("one agent, target and rule at a time")
	r.press("d")
	r.want("DENY 2 approvals")
}

func TestBulkFailuresStayMarked(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.f.refuse = &client.Error{Code: wire.CodeForbidden, Status: 403, Message: "no"}
	r.press("j", "a", "g", "enter")
	r.text("2")
	r.press("enter", "enter")
	if len(r.f.posts) != 2 {
		t.Fatalf("%d posts, want 2", len(r.f.posts))
	}
	r.want("alice may not decide this")
	r.press("esc")
	r.want("marked 2")
}

func TestLostAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	lost := &client.ConnectionError{Sent: true, Err: errors.New("reset")}
	r.f.refuse = lost
	by := "alice"
	r.press("g", "enter")
	r.f.approvals[0].Status, r.f.approvals[0].DecidedBy = wire.ApprovalGranted, &by
	r.press("enter")
	if len(r.f.posts) != 1 {
		t.Fatalf("%d posts, want 1: it must not be sent again", len(r.f.posts))
	}
	r.want("granted 00000001")
}

func TestEscapeKeepsTextOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("g")
	r.text("because")
	r.press("esc")
	r.want("esc again drops your text", "because")
	r.press("esc")
	r.wantNot("GRANT")
	r.posts()
}

func TestCancelRunAsks(t *testing.T) {
	t.Parallel()
	r := newRig(t, typical(), 80, 24).online()
	r.press("2", "x", "enter") // No has the focus
	if len(r.f.cancelled) != 0 {
		t.Fatal("cancelled without a yes")
	}
	r.press("x", "tab", "enter")
	if d := cmp.Diff([]string{id(2, 0)}, r.f.cancelled); d != "" {
		t.Fatalf("cancelled (-want +got):\n%s", d)
	}
}
