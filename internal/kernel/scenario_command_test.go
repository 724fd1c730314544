package kernel_test

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// run executes one command of a script and says what it came to.
func (s *script) run(list []string) []string {
	a := s.arguments(list[1:])
	switch list[0] {
	case "time":
		d, err := time.ParseDuration(strings.TrimPrefix(a.word(0, ""), "+"))
		if err != nil {
			s.fatalf("time: %v", err)
		}
		s.at.now = s.at.now.Add(d)
		return []string{"now " + s.time(s.at.now)}
	case "use":
		s.use(a.word(0, ""))
		return nil
	case "causes":
		s.causes = true
		return nil
	case "policy":
		s.ruling = s.policy(a)
		return nil
	case "crash":
		s.world.crash()
		return nil
	case "forget":
		s.world.lease.Memory = &kernel.Memory{}
		return nil
	case "state":
		return s.renderState()
	case "lease":
		return s.renderLease()
	case "fence":
		return s.fence(a)
	}
	c := s.command(list[0], a)
	return s.renderOutcome(s.world.do(c))
}

func (s *script) command(name string, a *arguments) kernel.Command {
	w := s.world
	switch name {
	case "create":
		return s.create(a)
	case "claim":
		dispatch := w.lease.ID
		if len(a.words) > 0 {
			dispatch = s.dispatchOf(a.words[0])
		}
		return &kernel.ClaimDispatch{Meta: w.meta(), Dispatch: dispatch, Timeout: a.duration("lease", defaultLease)}
	case "ack":
		return &kernel.RecordDelivery{Meta: w.meta(), Attempt: a.holder(a.word(0, "")), Acked: true, HTTPStatus: 200, MaxAttempts: defaultClaims}
	case "nack":
		jitter, _ := strconv.ParseFloat(a.named["jitter"], 64)
		return &kernel.RecordDelivery{
			Meta: w.meta(), Attempt: a.holder(a.word(0, "")), Error: a.named["error"], HTTPStatus: a.number("http", 0),
			MaxAttempts: a.number("max", defaultClaims), Jitter: jitter,
		}
	case "submit", "wait":
		return w.submitCommand(s.submission(name, a))
	case "complete":
		if a.word(0, "") == "execution" {
			output := a.json(1, "null")
			return &kernel.FinishExecution{
				Meta: w.meta(), Caller: a.caller(), Succeeded: true, Output: kernel.NewBody([]byte(output)), Canonical: canonicalDigest(output),
			}
		}
		return &kernel.FinishStep{
			Meta: w.meta(), Caller: a.caller(), Step: s.stepOf(a.word(0, "")), Succeeded: true,
			Outcome: kernel.NewBody([]byte(a.json(1, "null"))), Usage: usage(a),
		}
	case "fail":
		if a.word(0, "") == "execution" {
			return &kernel.FinishExecution{Meta: w.meta(), Caller: a.caller(), Reason: a.word(1, "")}
		}
		return &kernel.FinishStep{Meta: w.meta(), Caller: a.caller(), Step: s.stepOf(a.word(0, "")), Outcome: kernel.NewBody([]byte(a.json(1, `{}`)))}
	case "cancel":
		return &kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonClientCancelled}
	case "deadline":
		return &kernel.CancelExecution{Meta: w.meta(), Reason: kernel.ReasonDeadline}
	case "grant":
		return s.decide(kernel.ApprovalStatusGranted, a)
	case "deny":
		return s.decide(kernel.ApprovalStatusDenied, a)
	case "expire":
		return s.decide(kernel.ApprovalStatusExpired, a)
	case "signal":
		return &kernel.SendSignal{Meta: w.meta(), SignalType: a.word(0, ""), Payload: kernel.NewBody([]byte(a.json(1, "null"))), Key: a.named["key"]}
	case "expire-wait":
		return &kernel.ExpireWait{Meta: w.meta()}
	case "unpark":
		return &kernel.Unpark{Meta: w.meta()}
	case "lapse":
		return &kernel.LapseLease{Meta: w.meta(), MaxAttempts: a.number("max", defaultClaims)}
	case "restart":
		return &kernel.RestartDispatch{Meta: w.meta()}
	case "heartbeat":
		return &kernel.Heartbeat{Meta: w.meta(), Caller: a.caller()}
	case "delta":
		return &kernel.PublishDelta{Meta: w.meta(), Caller: a.caller(), Step: s.stepOf(a.word(0, ""))}
	}
	s.fatalf("no command %q", name)
	return nil
}

func (s *script) create(a *arguments) kernel.Command {
	c := &kernel.CreateExecution{Meta: s.world.meta(), Agent: kernel.AgentID(a.word(0, "mailer")), Input: kernel.NewBody([]byte(a.json(1, "{}")))}
	if d := a.duration("deadline", 0); d > 0 {
		c.Deadline = c.At.Add(d)
	}
	for _, pair := range a.list("labels") {
		if c.Labels == nil {
			c.Labels = map[string]string{}
		}
		k, v, _ := strings.Cut(pair, ":")
		c.Labels[k] = v
	}
	return c
}

func (s *script) submission(name string, a *arguments) *submission {
	sub := &submission{caller: a.caller(), key: a.named["key"], ruling: s.ruling}
	if name == "wait" {
		sub.signal, sub.timeout = a.word(0, ""), a.duration("timeout", 0)
		return sub
	}
	sub.kind, _ = kernel.ParseStepKind(a.word(0, ""))
	sub.target, sub.args = a.word(1, ""), a.json(2, "")
	sub.mode, _ = kernel.ParseIdempotency(a.named["mode"])
	return sub
}

func usage(a *arguments) *kernel.Usage {
	in, out, ok := strings.Cut(a.named["usage"], "+")
	if !ok {
		return nil
	}
	u := &kernel.Usage{}
	u.InputTokens, _ = strconv.ParseInt(in, 10, 64)
	u.OutputTokens, _ = strconv.ParseInt(out, 10, 64)
	return u
}

func (s *script) decide(verdict kernel.ApprovalStatus, a *arguments) kernel.Command {
	facts := *s.world.approval(s.approvalOf(a.word(0, "")))
	return &kernel.DecideApproval{Meta: s.world.meta(), Approval: facts, Verdict: verdict, DecidedBy: a.word(1, ""), Rationale: a.word(2, "")}
}

// policy reads what the policy says to the submits that follow.
func (s *script) policy(a *arguments) kernel.Ruling {
	actions := map[string]kernel.Action{"allow": kernel.Allow, "deny": kernel.Deny, "approve": kernel.RequireApproval, "?": 0}
	r := kernel.Ruling{Rule: a.named["rule"], Action: actions[a.word(0, "")], Reason: a.named["reason"]}
	if r.Rule == "" {
		r.Rule = "r1"
	}
	r.Approval = kernel.ApprovalTerms{Approvers: a.list("approvers"), Timeout: a.duration("timeout", 0), Message: a.named["message"]}
	if calls, window, ok := strings.Cut(a.named["limit"], "/"); ok {
		scopes := map[string]kernel.LimitScope{"": kernel.PerExecution, "execution": kernel.PerExecution, "agent": kernel.PerAgent, "global": kernel.PerService}
		n, err := strconv.Atoi(calls)
		if err != nil {
			s.fatalf("limit: %v", err)
		}
		d, err := time.ParseDuration(window)
		if err != nil {
			s.fatalf("limit: %v", err)
		}
		r.Limit = &kernel.RateLimit{MaxCalls: n, Window: d, Scope: scopes[a.named["scope"]], MaxWait: a.duration("max_wait", 0)}
	}
	if a.named["budget"] != "" {
		r.Budget = &kernel.Budget{MaxTokens: int64(a.number("budget", 0)), OnExceed: kernel.Deny}
		if a.named["on_exceed"] == "approve" {
			r.Budget.OnExceed = kernel.RequireApproval
		}
	}
	return r
}

// fence tries every kind of write by one attempt, without a trace.
func (s *script) fence(a *arguments) []string {
	writes := [][2]string{
		{"submit new      ", "submit tool_call brand_new by="},
		{"submit wait     ", "wait brand_new by="},
		{"step complete   ", "complete #1 1 by="},
		{"step fail       ", `fail #1 {"reason":"x"} by=`},
		{"complete        ", "complete execution 1 by="},
		{"fail            ", "fail execution x by="},
		{"heartbeat       ", "heartbeat by="},
		{"delta           ", "delta #1 by="},
	}
	by := a.named["by"]
	if by == "" {
		by = s.attempt(s.world.lease.Holder.Dispatch, s.world.lease.Holder.Attempt)
	}
	out := make([]string, 0, len(writes))
	for _, write := range writes {
		list := words(write[1] + by)
		if by == "nobody" && list[0] != "heartbeat" && list[0] != "delta" {
			continue
		}
		out = append(out, write[0]+s.try(list))
	}
	return out
}

// try runs a command in a fork and says on one line what it came to.
func (s *script) try(list []string) string {
	w, n := s.world, *s.name()
	fork := *s
	fork.world = w.fork()
	for name, was := range s.worlds {
		if was == w {
			fork.worlds = map[string]*world{name: fork.world}
			fork.names = map[string]*names{name: &n}
		}
	}
	out := fork.world.do(fork.command(list[0], fork.arguments(list[1:])))
	line := fork.renderAnswer(&out)
	if types := typesOf(out.events); types != "" {
		line += "; " + types
	}
	return line
}
