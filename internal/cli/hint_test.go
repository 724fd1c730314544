package cli

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// What a hint says to run goes where the command went; what needs no server
// stays as it is.
func TestHint(t *testing.T) {
	t.Parallel()
	f := &factory{place: " -s http://h:1"}
	for in, want := range map[string]string{
		"kernelctl ap grant 51c09ab4 --by NAME":                            "kernelctl -s http://h:1 ap grant 51c09ab4 --by NAME",
		"one of\nkernelctl approvals grant a\nkernelctl approvals grant b": "one of\nkernelctl -s http://h:1 approvals grant a\nkernelctl -s http://h:1 approvals grant b",
		"kernelctl config view --origin":                                   "kernelctl -s http://h:1 config view --origin",
		"start a server: kernelctl serve --dev":                            "start a server: kernelctl serve --dev",
		"kernelctl config use prod":                                        "kernelctl config use prod",
		"kernelctl policies lint p.yaml":                                   "kernelctl policies lint p.yaml",
		"kernelctl help formatting":                                        "kernelctl help formatting",
	} {
		if got := f.hint(in); got != want {
			t.Errorf("hint(%q) = %q, want %q", in, got, want)
		}
	}
	if got := (&factory{}).hint("kernelctl doctor"); got != "kernelctl doctor" {
		t.Errorf("without flags: %q", got)
	}
}

// The flag that a command line went by is in its hint, for people and programs.
func TestHintOfACommand(t *testing.T) {
	t.Parallel()
	missing := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", wire.ContentTypeJSON)
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error":"no such execution"}`)) // a proxy's
	}
	code, _, errs := call(t, missing, "executions", "get", someID, "-o", "json")
	var said errorObject
	if err := json.Unmarshal([]byte(errs), &said); err != nil {
		t.Fatal(err)
	}
	if code != int(exit.NotFound) || !strings.Contains(said.Error.Hint, "kernelctl -s http://127.0.0.1:") || !strings.HasSuffix(said.Error.Hint, " config view --origin") {
		t.Errorf("exit code %d, hint %q", code, said.Error.Hint)
	}
}

func TestWrongValuesOfFlags(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--limit=many": `--limit "many": want a whole number`, "--timeout=soon": `--timeout "soon": want a duration such as`,
		"--watch=perhaps": `--watch "perhaps": want true or false`,
	} {
		code, _, errs := call(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }, "executions", "list", flag)
		if code != int(exit.Usage) || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, stderr %q; want %q", flag, code, errs, want)
		}
	}
}
