package cli

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const someID = "01930c2e-7a10-7c55-b2aa-0f1ec2d0e911"

// When the answer to a decision is lost, it is not sent again: the approval says
// what became of it.
func TestLostDecision(t *testing.T) {
	t.Parallel()
	by := func(name string) *string { return &name }
	tests := []struct {
		name  string
		after wire.Approval // as it is read afterwards
		code  exit.Code
		says  string
	}{
		{"it arrived", wire.Approval{ID: someID, Status: wire.ApprovalGranted, DecidedBy: by("alice")}, exit.OK, "the answer was lost, but"},
		{"it did not", wire.Approval{ID: someID, Status: wire.ApprovalPending}, exit.Unreachable, "the decision did not arrive"},
		{"somebody else was first", wire.Approval{ID: someID, Status: wire.ApprovalDenied, DecidedBy: by("bob"), DecidedAt: &wire.Time{}}, exit.Conflict, "denied by bob"},
		{"it expired", wire.Approval{ID: someID, Status: wire.ApprovalExpired}, exit.Conflict, "it is expired"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			code, _, errs := call(t, func(w http.ResponseWriter, r *http.Request) {
				switch {
				case r.Method == http.MethodPost:
					posts.Add(1)
					panic(http.ErrAbortHandler)
				case posts.Load() == 0:
					answer(w, wire.Approval{ID: someID, Status: wire.ApprovalPending})
				default:
					answer(w, tt.after)
				}
			}, "approvals", "grant", someID, "--by", "alice")
			if code != int(tt.code) || !strings.Contains(errs, tt.says) || posts.Load() != 1 {
				t.Errorf("exit code %d after %d posts, stderr %q; want %d, 1, %q", code, posts.Load(), errs, tt.code, tt.says)
			}
		})
	}
}

func TestLostCancel(t *testing.T) {
	t.Parallel()
	tests := []struct {
		after wire.ExecutionStatus
		code  exit.Code
		says  string
	}{
		{wire.ExecutionCancelled, exit.OK, "the answer was lost, but"},
		{wire.ExecutionRunning, exit.Unreachable, "the request did not arrive"},
		{wire.ExecutionCompleted, exit.Unreachable, "may have had its effect"},
	}
	for _, tt := range tests {
		t.Run(string(tt.after), func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			code, _, errs := call(t, func(w http.ResponseWriter, r *http.Request) {
				x := wire.Execution{ID: someID, Status: wire.ExecutionRunning}
				if r.Method == http.MethodPost {
					posts.Add(1)
					panic(http.ErrAbortHandler)
				}
				if posts.Load() > 0 {
					x.Status = tt.after
				}
				answer(w, x)
			}, "executions", "cancel", someID, "--yes")
			if code != int(tt.code) || !strings.Contains(errs, tt.says) || posts.Load() != 1 {
				t.Errorf("exit code %d after %d posts, stderr %q; want %d, 1, %q", code, posts.Load(), errs, tt.code, tt.says)
			}
		})
	}
}

// A create whose answer is lost is sent again under the same key.
func TestLostCreate(t *testing.T) {
	t.Parallel()
	var posts atomic.Int32
	var key atomic.Value
	code, out, _ := call(t, func(w http.ResponseWriter, r *http.Request) {
		k := r.Header.Get(wire.HeaderIdempotencyKey)
		if posts.Add(1) == 1 {
			key.Store(k)
			panic(http.ErrAbortHandler)
		}
		if k == "" || k != key.Load() {
			t.Errorf("key %q, then %q", key.Load(), k)
		}
		answer(w, wire.Execution{ID: someID})
	}, "executions", "create", "--agent", "demo")
	if code != 0 || out != someID+"\n" || posts.Load() != 2 {
		t.Errorf("exit code %d, stdout %q after %d posts", code, out, posts.Load())
	}
}

// A server that answers something else is not taken for ours.
func TestAnotherServer(t *testing.T) {
	t.Parallel()
	code, _, errs := call(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("<html>welcome</html>"))
	}, "executions", "list")
	if code != int(exit.Failed) || !strings.Contains(errs, "does not answer as this service does") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// An id that is only a part must be unique among the newest executions.
func TestPartsOfIDs(t *testing.T) {
	t.Parallel()
	list := wire.ExecutionList{Executions: wire.List[wire.Execution]{
		{ID: "01930c2e-7a10-7c55-b2aa-0f1ec2d0e911"}, {ID: "01930c2e-7a10-7c55-b2aa-0f1ec2d0e922"}, {ID: "01930c2f-7a10-7c55-b2aa-0f1ea2d0e911"},
	}}
	tests := []struct {
		arg  string
		code exit.Code
		says string
	}{
		{"c2d0e922", exit.OK, ""},
		{"execution/C2D0E922", exit.OK, ""},
		{"01930c2f", exit.OK, ""},
		{"01930c2e", exit.Ambiguous, "c2d0e922"},
		{"e911", exit.Ambiguous, "2 match"},
		{"ffff", exit.NotFound, "none of the 3 executions"},
		{"e91", exit.Usage, "too short"},
		{"xyz!", exit.NotFound, "an id has the characters"},
	}
	for _, tt := range tests {
		t.Run(tt.arg, func(t *testing.T) {
			t.Parallel()
			code, _, errs := call(t, func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/v0/executions":
					answer(w, list)
				default:
					answer(w, wire.Execution{ID: strings.TrimPrefix(r.URL.Path, "/v0/executions/")})
				}
			}, "executions", "get", tt.arg)
			if code != int(tt.code) || !strings.Contains(errs, tt.says) {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, errs, tt.code, tt.says)
			}
		})
	}
}
