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

// Route is one row of the API.
type Route struct {
	Method  string
	Pattern string
	Auth    Auth
	Headers Headers
	handle  func(*call) error
}

// routes is the whole API.
func (s *Server) routes() []Route {
	const (
		get  = http.MethodGet
		post = http.MethodPost
		del  = http.MethodDelete
	)
	return []Route{
		{post, "/v0/executions", Bearer, NoHeaders, (*call).createExecution},
		{get, "/v0/executions", Bearer, NoHeaders, (*call).listExecutions},
		{get, "/v0/executions/{id}", Either, NoHeaders, (*call).getExecution},
		{post, "/v0/executions/{id}/cancel", Bearer, NoHeaders, (*call).cancelExecution},
		{post, "/v0/executions/{id}/signal", Bearer, NoHeaders, (*call).signal},
		{get, "/v0/executions/{id}/events", Bearer, NoHeaders, (*call).listEvents},
		{get, "/v0/executions/{id}/stream", Bearer, NoHeaders, (*call).streamDeltas},
		{get, "/v0/events", Bearer, NoHeaders, (*call).feed},

		{get, "/v0/executions/{id}/steps", Either, NoHeaders, (*call).listSteps},
		{get, "/v0/executions/{id}/steps/{step_id}", Either, NoHeaders, (*call).getStep},
		{post, "/v0/executions/{id}/steps", Agent, RequiredHeaders, (*call).submitStep},
		{post, "/v0/executions/{id}/steps/{step_id}/complete", Agent, RequiredHeaders, (*call).completeStep},
		{post, "/v0/executions/{id}/steps/{step_id}/fail", Agent, RequiredHeaders, (*call).failStep},
		{post, "/v0/executions/{id}/steps/{step_id}/stream", Agent, OptionalHeaders, (*call).publishDelta},
		{post, "/v0/executions/{id}/wait", Agent, RequiredHeaders, (*call).wait},
		{post, "/v0/executions/{id}/heartbeat", Agent, OptionalHeaders, (*call).heartbeat},
		{post, "/v0/executions/{id}/complete", Agent, RequiredHeaders, (*call).completeExecution},
		{post, "/v0/executions/{id}/fail", Agent, RequiredHeaders, (*call).failExecution},

		{post, "/v0/agents", Bearer, NoHeaders, (*call).registerAgent},
		{get, "/v0/agents", Bearer, NoHeaders, (*call).listAgents},
		{get, "/v0/agents/{id}", Bearer, NoHeaders, (*call).getAgent},
		{del, "/v0/agents/{id}", Bearer, NoHeaders, (*call).deleteAgent},
		{post, "/v0/policies/{agent_id}", Bearer, NoHeaders, (*call).putPolicy},
		{get, "/v0/policies/{agent_id}", Bearer, NoHeaders, (*call).getPolicy},
		{del, "/v0/policies/{agent_id}", Bearer, NoHeaders, (*call).deletePolicy},
		{post, "/v0/policies/{agent_id}/test", Bearer, NoHeaders, (*call).testPolicy},
		{get, "/v0/approvals", Bearer, NoHeaders, (*call).listApprovals},
		{get, "/v0/approvals/{id}", Bearer, NoHeaders, (*call).getApproval},
		{post, "/v0/approvals/{id}/grant", Bearer, NoHeaders, (*call).grantApproval},
		{post, "/v0/approvals/{id}/deny", Bearer, NoHeaders, (*call).denyApproval},

		{get, "/v0/health", Public, NoHeaders, (*call).health},
		{get, "/v0/ready", Public, NoHeaders, (*call).readyz},
		{get, "/v0/version", Public, NoHeaders, (*call).version},
		{get, "/v0/openapi.yaml", Public, NoHeaders, (*call).openAPI},
		{get, "/metrics", Public, NoHeaders, (*call).metrics},
	}
}

// Routes lists the API, for tests and documents.
func (s *Server) Routes() []Route { return s.routes() }
