package server

import "net/http"

// Auth says whose credential a route takes.
type Auth uint8

// The kinds of credential.
const (
	Public Auth = iota + 1 // none
	Bearer                 // client or admin
	Agent                  // the agent's signature
	Either                 // a bearer, or the signature of the execution's agent
)

// Headers says what a route does with the dispatch headers.
type Headers uint8

// The uses of the dispatch headers.
const (
	NoHeaders Headers = iota
	RequiredHeaders
	OptionalHeaders
)

// Priority says what is served while more is asked than can be done.
type Priority uint8

// The priorities. What ends work, or keeps it alive, makes room; what begins
// work takes it.
const (
	Last  Priority = iota + 1 // begins an execution: refused first
	Next                      // goes on with one, or reads
	First                     // ends something, keeps a lease, decides, or tells how the service is
)

// room is how much of the room for waiting operations may be taken when a
// request of this priority comes. The store itself refuses beyond 1.
func (p Priority) room() float64 {
	switch p {
	case Last:
		return 0.25
	case Next:
		return 0.75
	case First:
	}
	return 1
}

// Route is one row of the API.
type Route struct {
	Method   string
	Pattern  string
	Auth     Auth
	Headers  Headers
	Priority Priority
	handle   func(*call) error
}

// routes is the whole API.
func (s *Server) routes() []Route {
	const (
		get  = http.MethodGet
		post = http.MethodPost
		del  = http.MethodDelete
	)
	return []Route{
		{post, "/v0/executions", Bearer, NoHeaders, Last, (*call).createExecution},
		{get, "/v0/executions", Bearer, NoHeaders, Next, (*call).listExecutions},
		{get, "/v0/executions/{id}", Either, NoHeaders, Next, (*call).getExecution},
		{post, "/v0/executions/{id}/cancel", Bearer, NoHeaders, First, (*call).cancelExecution},
		{post, "/v0/executions/{id}/signal", Bearer, NoHeaders, Next, (*call).signal},
		{get, "/v0/executions/{id}/events", Bearer, NoHeaders, Next, (*call).listEvents},
		{get, "/v0/executions/{id}/stream", Bearer, NoHeaders, Next, (*call).streamDeltas},
		{get, "/v0/events", Bearer, NoHeaders, Next, (*call).feed},

		{get, "/v0/executions/{id}/steps", Either, NoHeaders, Next, (*call).listSteps},
		{get, "/v0/executions/{id}/steps/{step_id}", Either, NoHeaders, Next, (*call).getStep},
		{post, "/v0/executions/{id}/steps", Agent, RequiredHeaders, Next, (*call).submitStep},
		{post, "/v0/executions/{id}/steps/{step_id}/complete", Agent, RequiredHeaders, First, (*call).completeStep},
		{post, "/v0/executions/{id}/steps/{step_id}/fail", Agent, RequiredHeaders, First, (*call).failStep},
		{post, "/v0/executions/{id}/steps/{step_id}/stream", Agent, OptionalHeaders, Next, (*call).publishDelta},
		{post, "/v0/executions/{id}/wait", Agent, RequiredHeaders, Next, (*call).wait},
		{post, "/v0/executions/{id}/heartbeat", Agent, OptionalHeaders, First, (*call).heartbeat},
		{post, "/v0/executions/{id}/complete", Agent, RequiredHeaders, First, (*call).completeExecution},
		{post, "/v0/executions/{id}/fail", Agent, RequiredHeaders, First, (*call).failExecution},

		{post, "/v0/agents", Bearer, NoHeaders, Next, (*call).registerAgent},
		{get, "/v0/agents", Bearer, NoHeaders, Next, (*call).listAgents},
		{get, "/v0/agents/{id}", Bearer, NoHeaders, Next, (*call).getAgent},
		{del, "/v0/agents/{id}", Bearer, NoHeaders, Next, (*call).deleteAgent},
		{post, "/v0/policies/{agent_id}", Bearer, NoHeaders, Next, (*call).putPolicy},
		{get, "/v0/policies/{agent_id}", Bearer, NoHeaders, Next, (*call).getPolicy},
		{del, "/v0/policies/{agent_id}", Bearer, NoHeaders, Next, (*call).deletePolicy},
		{post, "/v0/policies/{agent_id}/test", Bearer, NoHeaders, Next, (*call).testPolicy},
		{get, "/v0/approvals", Bearer, NoHeaders, Next, (*call).listApprovals},
		{get, "/v0/approvals/{id}", Bearer, NoHeaders, Next, (*call).getApproval},
		{post, "/v0/approvals/{id}/grant", Bearer, NoHeaders, First, (*call).grantApproval},
		{post, "/v0/approvals/{id}/deny", Bearer, NoHeaders, First, (*call).denyApproval},

		{get, "/v0/health", Public, NoHeaders, First, (*call).health},
		{get, "/v0/ready", Public, NoHeaders, First, (*call).readyz},
		{get, "/v0/version", Public, NoHeaders, First, (*call).version},
		{get, "/v0/openapi.yaml", Public, NoHeaders, Next, (*call).openAPI},
		{get, "/metrics", Public, NoHeaders, First, (*call).metrics},
	}
}

// Routes lists the API, for tests and documents.
func (s *Server) Routes() []Route { return s.routes() }
