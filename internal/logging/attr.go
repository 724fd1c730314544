package logging

import (
	"log/slog"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// The names under which lines say what they are about.
const (
	KeyExecution = "execution_id"
	KeyAgent     = "agent_id"
	KeyStep      = "step_id"
	KeyDispatch  = "dispatch_id"
	KeyApproval  = "approval_id"
	KeyRequest   = "request_id"
	KeyError     = "err"
)

// Execution says which execution a line is about.
func Execution(id kernel.ExecutionID) slog.Attr { return slog.String(KeyExecution, id.String()) }

// Agent says which agent a line is about.
func Agent(id kernel.AgentID) slog.Attr { return slog.String(KeyAgent, string(id)) }

// Step says which step a line is about.
func Step(id kernel.StepID) slog.Attr { return slog.String(KeyStep, id.String()) }

// Dispatch says which dispatch a line is about.
func Dispatch(id kernel.DispatchID) slog.Attr { return slog.String(KeyDispatch, id.String()) }

// Approval says which approval a line is about.
func Approval(id kernel.ApprovalID) slog.Attr { return slog.String(KeyApproval, id.String()) }

// Request says which request a line is about.
func Request(id string) slog.Attr { return slog.String(KeyRequest, id) }

// Err is why something went wrong.
func Err(err error) slog.Attr { return slog.Any(KeyError, err) }
