// Package timer notices that time has passed: approvals and waits that expire,
// deadlines, parked steps, lapsed leases, retention. What it notices becomes an
// ordinary command of the engine, which checks it again; so a timer that fires
// twice or too early does no harm, and one that is lost is found again in the
// store's indexes at the next start.
//
// [Timers.Run] owns its goroutines.
package timer
