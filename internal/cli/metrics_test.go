package cli

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestReadMetrics(t *testing.T) {
	t.Parallel()
	text := `# HELP kernelctl_executions x
# TYPE kernelctl_executions gauge
kernelctl_executions{status="running"} 112
kernelctl_executions{status="blocked"} 3
kernelctl_dispatch_queue_depth 4
kernelctl_db_bytes 1.048576e+06
kernelctl_http_requests_total{method="GET",route="/v0/health",status="200"} 7 1700000000
broken{
broken
`
	snap := snapshot{Executions: make(map[wire.ExecutionStatus]tally)}
	snap.read(parseMetrics([]byte(text)))
	want := map[wire.ExecutionStatus]tally{wire.ExecutionRunning: {Count: 112}, wire.ExecutionBlocked: {Count: 3}}
	if diff := cmp.Diff(want, snap.Executions); diff != "" || *snap.Dispatches != 4 || *snap.Database != 1<<20 || snap.Writes != nil {
		t.Errorf("snapshot %+v, executions (-want +got):\n%s", snap, diff)
	}
	if got := len(parseMetrics([]byte(text))); got != 5 {
		t.Errorf("%d samples, want 5", got)
	}
}
