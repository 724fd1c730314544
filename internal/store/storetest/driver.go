package storetest

import (
	"context"
	"testing"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/store"
)

// Driver is what the suite has to know of a driver.
type Driver struct {
	// Open opens the store that lives in a folder, and makes it when there is none.
	Open func(ctx context.Context, folder string, o Options) (store.Store, error)
	// Copy leaves in the empty folder to what a kill at this moment would leave
	// of the store that is open in the folder from.
	Copy func(from, to string) error
	// Rows loads an execution from its rows inside of an Update, whatever is
	// held in memory.
	Rows func(tx store.Tx, id kernel.ExecutionID) (*kernel.State, *kernel.Lease, error)
	// Verify checks the log in a folder, and everything else against it.
	Verify func(ctx context.Context, folder string) error
	// Fail makes the store ask fault at every point of its writing, and fail
	// there with the error that it returns; nil ends it. It is called while
	// the store is idle.
	Fail func(s store.Store, fault Fault) error
	// Faults are the errors that Fail can inject.
	Faults Faults
	// Queued is how many operations wait for the writer.
	Queued func(s store.Store) int
}

// Options are what the suite asks of an open store.
type Options struct {
	Resident int // executions and steps that stay in memory; 0: many
	OnCommit func([]store.Committed)
}

// Fault decides whether a store's writing fails at a point; nil: it does not.
type Fault func(Point) error

// Point is a place where writing can fail.
type Point int

// The points of [Fault].
const (
	BeforeStatement Point = iota // of a change, begin and rollback excepted
	BeforeCommit                 // nothing of it is on the disk
	AfterCommit                  // it is on the disk, but the store cannot know
)

// Faults are errors as the database reports them.
type Faults struct {
	Full error // no space: refused, and tried again later
	IO   error // what is on the disk is unknown: the store has to stop
	Busy error // somebody else holds the database for a moment
}

// TB is what *testing.T and *rapid.T have in common.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run runs the whole suite.
func Run(t *testing.T, d Driver) {
	t.Helper()
	for _, part := range []struct {
		name string
		test func(*testing.T, Driver)
	}{
		{"Executions", testExecutions},
		{"Life", testLife},
		{"LoadNothing", testLoadNothing},
		{"CreateKeys", testCreateKeys},
		{"CreatedAgain", testCreatedAgain},
		{"GatedWait", testGatedWait},
		{"Agents", testAgents},
		{"Policies", testPolicies},
		{"Texts", testTexts},
		{"Conversations", testConversations},
		{"Interleaved", testInterleavedConversations},
		{"Limits", testLimits},
		{"SlotsOfFailures", testSlotsOfFailures},
		{"WindowsOfOneBucket", testWindowsOfOneBucket},
		{"ExecutionList", testExecutionList},
		{"ApprovalList", testApprovalList},
		{"EventPages", testEventPages},
		{"DueDispatches", testDueDispatches},
		{"InFlight", testInFlight},
		{"Timers", testTimers},
		{"Retention", testRetention},
		{"RetentionOfLargeExecutions", testRetentionOfLargeExecutions},
		{"ReadsBesideRetention", testReadsBesideRetention},
		{"PositionsAfterRetention", testPositionsAfterRetention},
		{"Committed", testCommitted},
		{"CommittedFacts", testCommittedFacts},
		{"ReadYourWrites", testReadYourWrites},
		{"Contexts", testContexts},
		{"Chore", testChore},
		{"Ended", testEnded},
		{"OrderlyStop", testOrderlyStop},
		{"Kill", testKill},
		{"KillAfterAnOrderlyStop", testKillAfterAnOrderlyStop},
		{"RefusedOperation", testRefusedOperation},
		{"PanickingOperation", testPanickingOperation},
		{"FaultInABatch", testFaultInABatch},
		{"FullDisk", testFullDisk},
		{"BusyDatabase", testBusyDatabase},
		{"FailedFlush", testFailedFlush},
		{"Histories", testHistories},
	} {
		t.Run(part.name, func(t *testing.T) {
			t.Parallel()
			part.test(t, d)
		})
	}
}
