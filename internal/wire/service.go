package wire

// Health answers GET /v0/health and GET /v0/ready.
type Health struct {
	Status string `json:"status"`
}

// HealthOK is the status of a service that is well.
const HealthOK = "ok"

// Version answers GET /v0/version.
type Version struct {
	Version  string       `json:"version"`
	Commit   string       `json:"commit"`
	Go       string       `json:"go"`
	Features List[string] `json:"features"` // see the Feature constants
}

// The features that a client may ask for before it uses them.
const (
	FeatureLabels          = "labels"           // labels on executions, and the filter on them
	FeatureDeadlines       = "deadlines"        // deadline_at and timeout_seconds on create
	FeatureIdempotencyKeys = "idempotency_keys" // the header Idempotency-Key
	FeatureEventTail       = "event_tail"       // an execution's events as a stream
	FeatureEventFeed       = "event_feed"       // the events of all executions as a stream
	FeatureApprovalFilters = "approval_filters" // status, agent_id and execution_id on the list of approvals
	FeaturePolicyRead      = "policy_read"      // reading and deleting a policy
	FeatureSignals         = "signals"          // signal and wait
)
