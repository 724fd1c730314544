// Package store is the port between the engine and a database: what a driver
// must do, and the shapes that reads return. Drivers live in packages of their
// own (sqlite); [github.com/agentkernel/kernelctl/internal/store/storetest] is
// the one suite that each of them passes. It imports only the kernel and starts
// no goroutine.
package store
