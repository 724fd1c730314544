package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"syscall"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func asExit(err error, target **exit.Error) bool { return errors.As(err, target) }

// explain gives any error its exit code and its three lines. It is the one
// place that knows both.
func explain(err error) *exit.Error {
	var (
		done     *exit.Error
		api      *client.Error
		conn     *client.ConnectionError
		protocol *client.ProtocolError
		timeout  *timeoutError
		sig      *signalError
		invalid  *settings.Invalid
		unknown  *settings.UnknownContext
		bad      *settings.BadValue
	)
	switch {
	case errors.As(err, &done):
		return done
	case flagGroup.MatchString(err.Error()):
		return exit.Usagef("%s", flagGroup.ReplaceAllString(err.Error(), "only one of --$1 and --$2 can be given"))
	case errors.Is(err, syscall.EPIPE) || isBrokenPipe(err):
		return &exit.Error{Code: exit.OK, Silent: true, Err: err}
	case errors.As(err, &sig):
		return interrupted(sig, err)
	case errors.As(err, &timeout):
		return timeUp(timeout)
	case errors.As(err, &api):
		return explainAPI(api)
	case errors.As(err, &conn):
		return explainConnection(conn)
	case errors.As(err, &protocol):
		return &exit.Error{
			Code: exit.Failed, What: protocol.Server + " does not answer as this service does", Why: protocol.Problem, Err: err,
			Next: "check --server: kernelctl config view --origin",
		}
	case errors.As(err, &invalid):
		e := &exit.Error{Code: exit.Usage, What: "the configuration cannot be used", Why: invalid.Error(), Next: invalid.Fix, Err: err}
		if e.Next == "" {
			e.Next = "correct it; kernelctl config path shows which file is read"
		}
		return e
	case errors.As(err, &unknown):
		return &exit.Error{Code: exit.Usage, What: "there is no such context", Why: unknown.Error(), Next: "kernelctl config contexts", Err: err}
	case errors.As(err, &bad):
		return &exit.Error{Code: exit.Usage, What: "a setting has a wrong value", Why: bad.Error(), Next: "kernelctl config view --origin", Err: err}
	}
	return &exit.Error{Code: exit.Failed, What: err.Error(), Err: err}
}

// flagGroup is what cobra says of two flags that do not go together, which has
// no type of its own.
var flagGroup = regexp.MustCompile(`^if any flags in the group \[(\S+) (\S+)\] are set none of the others can be; .*$`)

// explainAPI is the table of what the service answers.
func explainAPI(e *client.Error) *exit.Error {
	x := &exit.Error{Code: exit.Failed, What: e.Message, Why: whyAPI(e), Slug: string(e.Code), Err: e}
	if e.Code != "" {
		x.Details = e.Details
	}
	switch e.Code {
	case wire.CodeValidation:
		x.Code = exit.Usage
		x.Why = problems(e)
	case wire.CodeUnauthorized:
		x.Code = exit.Unauthorized
		x.Next = "set KERNELCTL_TOKEN or --token-file PATH; kernelctl doctor shows what is used"
	case wire.CodeForbidden:
		x.Code = exit.Forbidden
	case wire.CodeNotFound:
		x.Code = exit.NotFound
	case wire.CodeConflict, wire.CodeLeaseSuperseded, wire.CodeExecutionTerminal:
		x.Code = exit.Conflict
	case wire.CodePayloadTooLarge, wire.CodeUnsupportedMediaType:
		x.Code = exit.Usage
	case wire.CodeUnavailable:
		x.Code = exit.Unreachable
		x.Next = "try again; kernelctl doctor shows what is wrong"
	case wire.CodeTooManyRequests:
		x.Next = "try again a little later"
	case wire.CodeInternal:
		x.Next = "look for the request id in the server's log"
	case wire.CodeMethodNotAllowed:
		x.Next = "this server may be older than this kernelctl: kernelctl version --server"
	default:
		x.Slug = ""
		explainStatus(x, e.Status)
	}
	return x
}

// explainStatus judges an answer that has no code of the service: a proxy's.
func explainStatus(x *exit.Error, status int) {
	switch status {
	case http.StatusUnauthorized:
		x.Code = exit.Unauthorized
	case http.StatusForbidden:
		x.Code = exit.Forbidden
	case http.StatusNotFound:
		x.Code = exit.NotFound
	case http.StatusConflict:
		x.Code = exit.Conflict
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		x.Code = exit.Unreachable
	}
	x.Next = "check --server: kernelctl config view --origin"
}

func whyAPI(e *client.Error) string {
	code := string(e.Code)
	if code == "" {
		code = "no error code of the service"
	}
	why := fmt.Sprintf("%s (%d)", code, e.Status)
	if e.RequestID != "" {
		why += ", request " + e.RequestID
	}
	return why
}

func problems(e *client.Error) string {
	if len(e.Details.Problems) == 0 {
		return whyAPI(e)
	}
	texts := make([]string, 0, len(e.Details.Problems))
	for _, p := range e.Details.Problems {
		texts = append(texts, strings.TrimPrefix(p.Field+": "+p.Problem, ": "))
	}
	return strings.Join(texts, "; ") + " [" + whyAPI(e) + "]"
}

func explainConnection(e *client.ConnectionError) *exit.Error {
	x := &exit.Error{
		Code: exit.Unreachable, What: "cannot reach " + e.Server, Why: e.Err.Error(), Err: e,
		Next: "kernelctl doctor",
	}
	if e.Sent && e.Method != http.MethodGet {
		x.Why += "; the request may have had its effect"
	}
	switch {
	case errors.Is(e.Err, syscall.ECONNREFUSED):
		x.Next = "start a server: kernelctl serve --dev, or name another one: --server URL"
	case errors.Is(e.Err, http.ErrSchemeMismatch):
		x.Next = "it speaks plain HTTP: --server " + strings.Replace(e.Server, "https://", "http://", 1)
	case errors.As(e.Err, new(*tls.CertificateVerificationError)):
		x.Next = "use the name that is in its certificate, or trust who signed it: SSL_CERT_FILE=ca.pem"
	}
	return x
}

func timeUp(t *timeoutError) *exit.Error {
	if t.long {
		return &exit.Error{Code: exit.Pending, What: "still pending", Why: t.Error(), Next: "rerun with a longer --timeout"}
	}
	return &exit.Error{Code: exit.Unreachable, What: "no complete answer in time", Why: t.Error(), Next: "kernelctl doctor, or rerun with a longer --timeout"}
}

func interrupted(s *signalError, err error) *exit.Error {
	x := &exit.Error{Code: exit.Interrupted, What: "interrupted", Err: err}
	if s.signal == syscall.SIGTERM {
		x.Code, x.What = exit.Terminated, "terminated"
	}
	return x
}

// interruption keeps a command's own error for a signal, and makes anything
// else that came of the cancelled context the signal's.
func interruption(err, cause error) error {
	if e := (*exit.Error)(nil); errors.As(err, &e) {
		return err
	}
	if errors.Is(err, context.Canceled) || errors.As(err, new(*signalError)) {
		return cause
	}
	return err
}

// report prints an error and gives the exit code.
func (f *factory) report(err error, asJSON bool) exit.Code {
	e := explain(err)
	if e.Silent {
		return e.Code
	}
	if format, parseErr := printer.ParseFormat(f.format); parseErr == nil && format.ForProgram() {
		asJSON = true
	}
	if asJSON {
		f.reportJSON(e)
	} else {
		f.reportLines(e)
	}
	return e.Code
}

func (f *factory) reportLines(e *exit.Error) {
	color := f.io.ColorErr()
	what := e.What
	if what == "" && e.Err != nil {
		what = e.Err.Error()
	}
	why := e.Why
	if why == "" && e.Err != nil && e.Err.Error() != what {
		why = e.Err.Error()
	}
	if e.Code == exit.Interrupted || e.Code == exit.Terminated { // what was asked for is no error
		f.io.Warnf("%s", printer.Clean(what))
		why = ""
	} else {
		f.io.Warnf("%s %s", printer.Paint(color, printer.Bad, "error:"), printer.Clean(what))
	}
	if why != "" {
		f.io.Warnf("%s   %s", printer.Paint(color, printer.Dim, "why:"), printer.Clean(why))
	}
	for i, line := range strings.Split(f.hint(e.Next), "\n") {
		head := printer.Paint(color, printer.Dim, "next:") + " "
		if i > 0 {
			head = "      "
		}
		if line != "" {
			f.io.Warnf("%s %s", head, printer.Clean(line))
		}
	}
}

// errorObject is how an error looks to a program.
type errorObject struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Code     string `json:"code"`
	Message  string `json:"message"`
	Details  any    `json:"details"`
	Hint     string `json:"hint"`
	ExitCode int    `json:"exit_code"`
}

// bodyOf is an error as a program sees it.
func (f *factory) bodyOf(e *exit.Error) *errorBody {
	body := &errorBody{Code: e.Slug, Message: e.Error(), Details: e.Details, Hint: f.hint(e.Next), ExitCode: int(e.Code)}
	if body.Code == "" {
		body.Code = e.Code.String()
	}
	if body.Details == nil {
		body.Details = struct{}{}
	}
	return body
}

func (f *factory) reportJSON(e *exit.Error) {
	b, err := wire.Marshal(errorObject{*f.bodyOf(e)})
	if err != nil {
		f.reportLines(e)
		return
	}
	f.io.Warnf("%s", b)
}

// wantsJSON looks for -o json in a command line that could not be read, so that
// a program gets an object in any case.
func wantsJSON(args []string) bool {
	for i, a := range args {
		switch {
		case a == "--":
			return false
		case a == "-o" || a == "--output":
			return i+1 < len(args) && isProgramFormat(args[i+1])
		case strings.HasPrefix(a, "--output="):
			return isProgramFormat(strings.TrimPrefix(a, "--output="))
		case strings.HasPrefix(a, "-o"):
			return isProgramFormat(strings.TrimPrefix(strings.TrimPrefix(a, "-o"), "="))
		}
	}
	return false
}

func isProgramFormat(s string) bool { return s == "json" || s == "jsonl" }
