// Package policy holds the policy bundle: its grammar, the
// compiler, the matcher and the case runner.
//
// [Compile] turns the YAML text of a bundle into a [Bundle] or lists every
// problem of the text. [Bundle.Evaluate] gives the ruling of the first rule that
// matches a call. Rate limits, budgets and approval terms leave as values of the
// ruling: enforcing them needs the state of the execution, which is the kernel's
// job.
//
// The package is pure: it imports kernel, canonjson, the YAML parser and the
// standard library, and no clock, randomness or IO. It starts no goroutine. A
// Bundle never changes and may be used by many goroutines at once.
package policy
