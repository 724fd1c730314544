package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/agentkernel/kernelctl/internal/canonjson"
	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/policy"
	"github.com/agentkernel/kernelctl/internal/store"
	"github.com/agentkernel/kernelctl/internal/usage"
)

// Submit is a request for a decision on a step.
type Submit struct {
	Execution   *store.Header
	Caller      kernel.Holder
	Kind        kernel.StepKind
	Target      string
	Args        []byte // checked JSON; nil counts as null
	Idempotency kernel.Idempotency
	Key         string        // Idempotency-Key, "" for none
	Wait        *Wait         // non-nil: a wait for a signal
	Request     kernel.Digest // of the request; needed with a key
}

// Wait is what a wait asks for beyond a submit.
type Wait struct {
	SignalType string
	Timeout    time.Duration // 0: for ever
}

var nullJSON = []byte("null")

// Submit decides a step. The answer of a replay carries its body.
func (e *Engine) Submit(ctx context.Context, r Submit) (kernel.Answer, error) {
	if r.Args == nil {
		r.Args = nullJSON
	}
	c := &kernel.SubmitStep{
		Caller: r.Caller, Kind: r.Kind, Target: r.Target, Idempotency: r.Idempotency,
		Args: kernel.NewBody(r.Args), ArgsHash: canonjson.Digest(r.Args), Request: r.Request, Approval: e.opts.ApprovalTimeout,
	}
	c.FirstID = kernel.DeriveStepID(r.Execution.ID, c.Kind, c.Target, c.ArgsHash, 0)
	if r.Key != "" {
		c.Key = sha256.Sum256([]byte(r.Key))
	}
	agent, _ := e.agents.get(r.Execution.Agent)
	began := time.Now()
	c.Ruling = agent.bundle().Evaluate(policy.Call{
		Kind: c.Kind, Target: c.Target, Args: r.Args, AgentID: string(r.Execution.Agent), Labels: r.Execution.Labels,
	})
	e.opts.Ruled(time.Since(began))
	answer, err := e.run(ctx, r.Execution.ID, c, func(tx store.Tx, s *kernel.State) error {
		if r.Wait != nil {
			c.Wait = &kernel.Wait{SignalType: r.Wait.SignalType}
			if r.Wait.Timeout > 0 {
				c.Wait.TimeoutAt = c.At.Add(r.Wait.Timeout)
			}
		}
		if c.Ruling.Limit == nil {
			return nil
		}
		var err error
		c.Bucket, err = tx.Bucket(bucketName(s, c), c.Ruling.Limit)
		return err
	})
	if err != nil {
		return answer, err
	}
	e.opts.Decided(c.Kind, answer.Decision)
	return answer, e.body(ctx, &answer)
}

// FinishStep records the outcome of a step: its result, or its error.
func (e *Engine) FinishStep(ctx context.Context, id kernel.ExecutionID, caller kernel.Holder, step kernel.StepID, succeeded bool, outcome []byte) (kernel.Answer, error) {
	c := &kernel.FinishStep{Caller: caller, Step: step, Succeeded: succeeded, Outcome: kernel.NewBody(outcome)}
	if succeeded {
		c.Usage = usage.Find(outcome)
	}
	answer, err := e.run(ctx, id, c, nil)
	if err != nil {
		return answer, err
	}
	return answer, e.body(ctx, &answer)
}

func rejection(code kernel.Code, format string, args ...any) error {
	return &kernel.Rejection{Code: code, Message: fmt.Sprintf(format, args...)}
}
