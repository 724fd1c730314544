// Package agent is the Go SDK for agents of kernelctl.
//
// An agent is a stateless HTTP service. The kernel hands it an execution with a
// signed webhook; the agent runs its logic from the top and asks the kernel
// before every effect. An effect that already has a result is replayed and not
// run again, so a crash, an approval that takes a day, or a second delivery
// cost nothing but the run from the top.
//
//	a, err := agent.New(agent.Options{BaseURL: "http://127.0.0.1:8080", AgentID: "mailer", Secret: secret})
//	...
//	http.Handle("/hook", a.Handler(func(ctx context.Context, run *agent.Run) (any, error) {
//		var in struct{ To string }
//		if err := run.Input(ctx, &in); err != nil {
//			return nil, err
//		}
//		return agent.Tool(ctx, run, "send_email", in, func(ctx context.Context) (Receipt, error) {
//			return mail.Send(ctx, in.To)
//		})
//	}))
//
// # What an agent function promises
//
// Given the same input and the same earlier results, it makes the same calls.
// The clock, random numbers and anything else that is local to the process go
// through [Step], which records them. Calls of the same kind, target and
// arguments are told apart by their order alone, so calls that run at the same
// time must differ in target or arguments, or be interchangeable. docs/agents.md
// has the whole contract.
//
// # How a run ends
//
// A value that the function returns completes the execution, an error fails it.
// When the kernel says that this run must end (see [ErrStop]) the SDK reports
// nothing, whatever the function returns: the execution goes on in a later run,
// or is over.
//
// # What this package is not
//
// It imports the standard library only. Every goroutine it starts belongs to a
// run and ends with it; [Agent.Shutdown] waits for all of them.
package agent
