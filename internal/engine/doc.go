// Package engine is the shell around the rules: it loads what a command needs,
// asks the policy for its ruling, lets the kernel decide, and saves the plan.
// Everything that changes an execution goes through here: requests of agents
// and clients, the dispatcher, the timers.
//
// Hashing, policy and parsing happen in the caller's goroutine; the closure
// that runs in the store's writer only looks things up and decides. It starts
// no goroutine and knows neither HTTP nor SQL.
package engine
