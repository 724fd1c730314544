package kernel

import "slices"

func (p *planner) decideApproval(c *DecideApproval) error {
	a, block := &c.Approval, p.s.Block
	byPerson := c.Verdict == ApprovalStatusGranted || c.Verdict == ApprovalStatusDenied
	switch {
	case !byPerson && c.Verdict != ApprovalStatusExpired:
		return reject(Conflict, "an approval cannot be made %s", c.Verdict)
	case byPerson && len(a.Approvers) > 0 && !slices.Contains(a.Approvers, c.DecidedBy):
		return reject(Forbidden, "%q is not among the approvers of this approval", c.DecidedBy)
	case a.Status == c.Verdict && a.DecidedBy == c.DecidedBy:
		p.plan.Answer = Answer{Unchanged: true}
		return nil
	case a.Status != ApprovalStatusPending:
		return tooLate(a.Status)
	case block == nil || block.Approval != a.ID:
		return reject(Conflict, "the execution does not wait for this approval any more")
	}
	switch {
	case p.at >= a.TimeoutAt:
		p.refuse(c, ReasonApprovalTimeout, ReasonApprovalExpired, &ApprovalExpired{Approval: a.ID, Step: block.Step})
		if byPerson { // its time was over, only the timer had not come round yet
			p.saveAnyway = true
			return tooLate(ApprovalStatusExpired)
		}
	case !byPerson:
		return reject(Conflict, "approval %s has not expired yet", a.ID)
	case c.Verdict == ApprovalStatusGranted:
		ref, step := p.gated()
		p.emit(block.Requested, &ApprovalGranted{Approval: a.ID, Step: block.Step, DecidedBy: c.DecidedBy, Rationale: c.Rationale})
		p.emit(EventID{}, &StepAllowed{StepRef: ref, Rule: step.Rule})
		p.resume(ReasonApprovalGranted, ReasonApprovalGranted)
	default:
		p.refuse(c, ReasonApprovalDenied, ReasonApprovalDenied,
			&ApprovalDenied{Approval: a.ID, Step: block.Step, DecidedBy: c.DecidedBy, Rationale: c.Rationale})
	}
	return nil
}

// refuse denies the gated step, by a person or by the passing of time.
func (p *planner) refuse(c *DecideApproval, reason, resumed string, first Data) {
	ref, step := p.gated()
	fields := []string{"reason", reason, "decided_by", c.DecidedBy, "rationale", c.Rationale, "rule_id", step.Rule}
	if first.Type() == TypeApprovalExpired {
		fields = []string{"reason", reason, "decided_by", null, "rationale", null, "rule_id", step.Rule}
	} else if c.Rationale == "" {
		fields[5] = null
	}
	p.emit(p.s.Block.Requested, first)
	p.emitBody(EventID{}, &StepDenied{StepRef: ref, Rule: step.Rule, Reason: reason}, errorBody(fields...))
	p.resume(resumed, resumed)
}

// gated is the step that the execution is blocked on.
func (p *planner) gated() (StepRef, *Step) {
	id := p.s.Block.Step
	step := p.s.Steps[id]
	if step == nil { // never: the block was recorded with its step
		step = &Step{}
	}
	return StepRef{Step: id, Kind: step.Kind, Target: step.Target, Dispatch: step.Dispatch, Attempt: step.Attempt}, step
}

func tooLate(status ApprovalStatus) error {
	return &Rejection{Code: Conflict, Message: "the approval is already " + status.String(), Status: status}
}
