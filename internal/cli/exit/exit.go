// Package exit is the table of exit codes and the error that carries one, with
// what a person needs to go on. Commands return it, also those of other
// packages; only package cli prints it and turns it into a status.
//
// It imports the standard library only.
package exit

import (
	"fmt"
	"slices"
)

// Code is the exit status of the command.
type Code int

// The exit codes. Scripts lean on them: none may change its meaning.
const (
	OK                 Code = 0
	Failed             Code = 1
	Usage              Code = 2
	NotFound           Code = 3
	Unauthorized       Code = 4
	Conflict           Code = 5
	Forbidden          Code = 6
	Unreachable        Code = 7
	Pending            Code = 8
	Ambiguous          Code = 9
	ExecutionFailed    Code = 10
	ExecutionCancelled Code = 11
	ExecutionBlocked   Code = 12
	CheckFailed        Code = 20
	Interrupted        Code = 130
	Terminated         Code = 143
)

// Row is one line of the table of exit codes.
type Row struct {
	Code    Code
	Name    string // how an error in JSON calls it
	Meaning string
}

// Table lists every code.
func Table() []Row {
	return []Row{
		{OK, "ok", "done (an empty list is 0; so is a closed pipe)"},
		{Failed, "failed", "any other failure, such as HTTP 5xx; a prompt answered No"},
		{Usage, "usage", "wrong usage, a bad input file, or --yes is missing"},
		{NotFound, "not_found", "not found, or nothing is pending to decide"},
		{Unauthorized, "unauthorized", "the token is missing or refused (401)"},
		{Conflict, "conflict", "already decided, execution terminal, or another conflict (409)"},
		{Forbidden, "forbidden", "forbidden (403): --by is not among the approvers"},
		{Unreachable, "unreachable", "server not reachable, TLS, 503, or --timeout of a one-shot command"},
		{Pending, "pending", "still pending: --timeout of wait or watch ran out"},
		{Ambiguous, "ambiguous", "ambiguous: a choice is needed and there is no terminal to ask"},
		{ExecutionFailed, "execution_failed", "the execution ended failed (wait, watch, create --wait)"},
		{ExecutionCancelled, "execution_cancelled", "the execution ended cancelled"},
		{ExecutionBlocked, "execution_blocked", "the execution is blocked (only with --exit-on-blocked)"},
		{CheckFailed, "check_failed", "a check failed: policies lint, policies test, verify, doctor"},
		{Interrupted, "interrupted", "SIGINT"},
		{Terminated, "terminated", "SIGTERM"},
	}
}

// String is the code's name in JSON.
func (c Code) String() string {
	for _, r := range Table() {
		if r.Code == c {
			return r.Name
		}
	}
	return fmt.Sprintf("code_%d", int(c))
}

// severity orders the codes for [Worst]: what no script may overlook comes first.
var severity = []Code{
	OK, Pending, ExecutionBlocked, ExecutionCancelled, ExecutionFailed, CheckFailed, NotFound, Conflict, Ambiguous,
	Forbidden, Usage, Failed, Unreachable, Unauthorized, Interrupted, Terminated,
}

// Worst is the code that stands for several outcomes.
func Worst(a, b Code) Code {
	if slices.Index(severity, b) > slices.Index(severity, a) {
		return b
	}
	return a
}

// Error is a failure for a person: what, why and what next.
type Error struct {
	Code    Code
	What    string // lower case, no full stop
	Why     string // may be empty
	Next    string // a command to run, or what to do; may be empty
	Slug    string // how JSON calls it; empty: the code's name
	Details any    // for JSON; nil: {}
	Err     error  // what caused it; may be nil
	Silent  bool   // all was said: print nothing, in JSON neither
}

// Error is what and why on one line.
func (e *Error) Error() string {
	switch {
	case e.What == "" && e.Err != nil:
		return e.Err.Error()
	case e.Why != "":
		return e.What + ": " + e.Why
	case e.Err != nil:
		return e.What + ": " + e.Err.Error()
	}
	return e.What
}

// Unwrap is the cause.
func (e *Error) Unwrap() error { return e.Err }

// Usagef is a usage error (2).
func Usagef(format string, args ...any) *Error {
	return &Error{Code: Usage, What: fmt.Sprintf(format, args...)}
}

// Try gives an error its advice.
func (e *Error) Try(format string, args ...any) *Error {
	e.Next = fmt.Sprintf(format, args...)
	return e
}

// Because gives an error its reason.
func (e *Error) Because(format string, args ...any) *Error {
	e.Why = fmt.Sprintf(format, args...)
	return e
}
