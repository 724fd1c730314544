// Package storetest is the one suite that every driver of the store passes.
//
// It drives a store with real commands of the kernel and keeps a model beside
// it: the same commands, decided and folded in memory by the same pure rules.
// After every command store and model must agree about answers and events, and
// at every check about everything that reads, queues and loads show. The suite
// then stops the store in orderly ways and without warning, makes its commits
// fail, and asks again.
//
// It starts the goroutine of the store under test and ends it with the test.
package storetest
