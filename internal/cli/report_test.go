package cli

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// Every kind of error has its exit code, and every code of the table has an
// error that gives it.
func TestExplain(t *testing.T) {
	t.Parallel()
	api := func(code wire.ErrorCode) error {
		return fmt.Errorf("wrapped: %w", &client.Error{Code: code, Status: code.Status(), Message: "no", RequestID: "r1"})
	}
	proxy := func(status int) error { return &client.Error{Status: status, Message: "no"} }
	refused := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	end := func(st wire.ExecutionStatus) error {
		return (&session{io: quietStreams()}).endError(wire.Execution{ID: "x", Status: st, FailureReason: "r"})
	}
	tests := []struct {
		err  error
		want exit.Code
	}{
		{syscall.EPIPE, exit.OK},
		{errors.New("anything"), exit.Failed},
		{api(wire.CodeInternal), exit.Failed},
		{api(wire.CodeTooManyRequests), exit.Failed},
		{api(wire.CodeMethodNotAllowed), exit.Failed},
		{&client.ProtocolError{Problem: "x"}, exit.Failed},
		{exit.Usagef("x"), exit.Usage},
		{api(wire.CodeValidation), exit.Usage},
		{api(wire.CodePayloadTooLarge), exit.Usage},
		{api(wire.CodeUnsupportedMediaType), exit.Usage},
		{&settings.Invalid{Path: "p", Problem: "x"}, exit.Usage},
		{&settings.UnknownContext{Name: "x"}, exit.Usage},
		{&settings.BadValue{Name: "x"}, exit.Usage},
		{api(wire.CodeNotFound), exit.NotFound},
		{proxy(http.StatusNotFound), exit.NotFound},
		{api(wire.CodeUnauthorized), exit.Unauthorized},
		{proxy(http.StatusUnauthorized), exit.Unauthorized},
		{api(wire.CodeConflict), exit.Conflict},
		{api(wire.CodeExecutionTerminal), exit.Conflict},
		{api(wire.CodeLeaseSuperseded), exit.Conflict},
		{proxy(http.StatusConflict), exit.Conflict},
		{api(wire.CodeForbidden), exit.Forbidden},
		{proxy(http.StatusForbidden), exit.Forbidden},
		{api(wire.CodeUnavailable), exit.Unreachable},
		{proxy(http.StatusBadGateway), exit.Unreachable},
		{&client.ConnectionError{Err: refused}, exit.Unreachable},
		{&timeoutError{limit: time.Second}, exit.Unreachable},
		{&timeoutError{limit: time.Second, long: true}, exit.Pending},
		{ambiguous(), exit.Ambiguous},
		{end(wire.ExecutionFailed), exit.ExecutionFailed},
		{end(wire.ExecutionCancelled), exit.ExecutionCancelled},
		{&exit.Error{Code: exit.ExecutionBlocked, What: "x"}, exit.ExecutionBlocked},
		{&exit.Error{Code: exit.CheckFailed, What: "x"}, exit.CheckFailed},
		{&signalError{os.Interrupt}, exit.Interrupted},
		{&signalError{syscall.SIGTERM}, exit.Terminated},
	}
	seen := map[exit.Code]bool{}
	for _, tt := range tests {
		e := explain(tt.err)
		if e.Code != tt.want {
			t.Errorf("explain(%v) = %s, want %s", tt.err, e.Code, tt.want)
		}
		if e.Error() == "" {
			t.Errorf("explain(%#v) says nothing", tt.err)
		}
		seen[e.Code] = true
	}
	for _, row := range exit.Table() {
		if !seen[row.Code] {
			t.Errorf("no error gives %s", row.Code)
		}
	}
	for _, code := range wire.ErrorCodes() {
		if e := explain(api(code)); !strings.Contains(e.Why, "request r1") || e.Slug != string(code) {
			t.Errorf("explain(%s) = %+v, want the code and the request id", code, e)
		}
	}
}

func ambiguous() error {
	_, err := choose("execution", "abcd", []idMatch{{"1", ""}, {"2", ""}}, "")
	return err
}

func TestReport(t *testing.T) {
	t.Parallel()
	f, _, errs := testFactory()
	f.report(&exit.Error{Code: exit.Forbidden, What: "eve\x1b[2J may not", Why: "because", Next: "one\ntwo"}, false)
	if want := "error: eve\\x1b[2J may not\nwhy:   because\nnext:  one\n       two\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs, want)
	}
	errs.Reset()
	f.report(&exit.Error{Code: exit.Ambiguous, What: "which", Details: map[string]int{"n": 2}}, true)
	if want := `{"error":{"code":"ambiguous","message":"which","details":{"n":2},"hint":"","exit_code":9}}` + "\n"; errs.String() != want {
		t.Errorf("stderr %q, want %q", errs, want)
	}
	errs.Reset()
	if code := f.report(syscall.EPIPE, true); code != 0 || errs.Len() > 0 {
		t.Errorf("a closed pipe: exit code %d, stderr %q", code, errs)
	}
}

func TestWantsJSON(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"ex ls -o json": true, "ex ls -ojson": true, "ex ls --output json": true, "--output=jsonl ex": true, "ex -o=json": true,
		"ex ls": false, "ex ls -o": false, "ex ls -o table": false, "ex -- -o json": false,
	} {
		if got := wantsJSON(strings.Fields(line)); got != want {
			t.Errorf("wantsJSON(%s) = %v, want %v", line, got, want)
		}
	}
}
