package archive

import (
	"fmt"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Check looks for contradictions inside of a section: gaps in the log, events of
// another execution, a status that is not the log's. It gives them as text; none
// means that the section agrees with itself.
func (s *Section) Check() []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	status := wire.ExecutionPending
	for i, e := range s.Events {
		if want := int64(i) + 1; e.EventSeq != want {
			report("event %d stands where %d should", e.EventSeq, want)
			return found // all that follow would be reported, too
		}
		if e.ExecutionID != s.Execution.ID {
			report("event %d is of execution %s", e.EventSeq, e.ExecutionID)
		}
		if status.Terminal() && e.Type != wire.EventDispatchDiscarded {
			report("event %d (%s) comes after the end", e.EventSeq, e.Type)
		}
		if after := e.Type.ExecutionStatus(); after != "" {
			status = after
		}
	}
	if status != s.Execution.Status {
		report("the status is %s, by the log it is %s", s.Execution.Status, status)
	}
	if last := int64(len(s.Events)); last != s.Execution.LastEventSeq {
		report("last_event_seq is %d, the log has %d events", s.Execution.LastEventSeq, last)
	}
	for _, st := range s.Steps {
		if st.ExecutionID != s.Execution.ID {
			report("step %s is of execution %s", st.StepID, st.ExecutionID)
		}
	}
	for _, a := range s.Approvals {
		if a.ExecutionID != s.Execution.ID {
			report("approval %s is of execution %s", a.ID, a.ExecutionID)
		}
	}
	return found
}
