package exit_test

import (
	"errors"
	"testing"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
)

func TestTable(t *testing.T) {
	t.Parallel()
	seen := map[exit.Code]bool{}
	names := map[string]bool{}
	for _, r := range exit.Table() {
		if seen[r.Code] || names[r.Name] || r.Meaning == "" {
			t.Errorf("row %+v: used twice or empty", r)
		}
		seen[r.Code], names[r.Name] = true, true
		if r.Code != exit.OK && exit.Worst(exit.OK, r.Code) != r.Code {
			t.Errorf("Worst(ok, %s) = ok: the code has no severity", r.Code)
		}
		if r.Code.String() != r.Name {
			t.Errorf("String() = %s, want %s", r.Code, r.Name)
		}
	}
	if got := exit.Code(99).String(); got != "code_99" {
		t.Errorf("String() of an unknown code = %s", got)
	}
}

func TestWorst(t *testing.T) {
	t.Parallel()
	if got := exit.Worst(exit.Unauthorized, exit.Conflict); got != exit.Unauthorized {
		t.Errorf("Worst = %s", got)
	}
	if got := exit.Worst(exit.Conflict, exit.Unauthorized); got != exit.Unauthorized {
		t.Errorf("Worst = %s", got)
	}
}

func TestError(t *testing.T) {
	t.Parallel()
	cause := errors.New("cause")
	tests := []struct {
		err  *exit.Error
		want string
	}{
		{exit.Usagef("no %s", "id"), "no id"},
		{exit.Usagef("no id").Because("none was given").Try("kernelctl help"), "no id: none was given"},
		{&exit.Error{What: "load", Err: cause}, "load: cause"},
		{&exit.Error{Err: cause}, "cause"},
	}
	for _, tt := range tests {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("Error() = %q, want %q", got, tt.want)
		}
	}
	if !errors.Is(&exit.Error{Err: cause}, cause) {
		t.Error("the cause is lost")
	}
}
