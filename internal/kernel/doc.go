// Package kernel holds the rules of the service: what an execution, a step, an
// approval and a dispatch may do next, and which events say so.
//
// It is pure. [Decide] turns the state of one execution, its lease and a
// command into a plan; [State.Fold] is the only writer of the state. Time, ids,
// the ruling of the policy and the state of a rate limit arrive as values: there
// is no context, clock, randomness, logger, metric or IO in here, and a test
// parses the imports to keep it so. It starts no goroutine.
package kernel
