package wire

// RegisterAgent is the body of POST /v0/agents.
type RegisterAgent struct {
	ID                  string `json:"id"`
	WebhookURL          string `json:"webhook_url"` // absolute http or https, no credentials, no fragment
	Secret              Secret `json:"secret"`
	LeaseTimeoutSeconds *int64 `json:"lease_timeout_seconds,omitempty"` // under 10 is ignored
}

// Agent is a registered agent. Its secret is never shown.
type Agent struct {
	ID                  string `json:"id"`
	WebhookURL          string `json:"webhook_url"`
	PolicyBundle        string `json:"policy_bundle,omitempty"`         // YAML; absent when none is loaded
	LeaseTimeoutSeconds int64  `json:"lease_timeout_seconds,omitempty"` // absent when the service's default is in force
	RegisteredAt        Time   `json:"registered_at"`
	UpdatedAt           Time   `json:"updated_at"`
}
