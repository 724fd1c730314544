// Package dispatch hands due dispatches to agents. It claims before it
// delivers, so that a webhook that leaves is already fenced, and reports how
// the delivery ended. The writer wakes it after each commit; polling the store
// is only the safety net.
//
// [Dispatcher.Run] owns all its goroutines: one loop, and one per delivery
// under way, of which there are at most Options.Concurrency.
package dispatch
