package store

import (
	"strconv"

	"github.com/agentkernel/kernelctl/internal/kernel"
)

// BucketName names the bucket that a rule's rate limit counts in: one per rule
// id and scope.
func BucketName(scope kernel.LimitScope, no int64, agent kernel.AgentID, rule string) string {
	switch scope {
	case kernel.PerAgent:
		return "agent/" + string(agent) + "/" + rule
	case kernel.PerService:
		return "global/" + rule
	case kernel.PerExecution:
	}
	return ExecutionBuckets(no) + rule // the narrowest scope, for an unknown one, too
}

// ExecutionBuckets is what the names of all buckets of one execution begin with.
func ExecutionBuckets(no int64) string { return "execution/" + strconv.FormatInt(no, 10) + "/" }
