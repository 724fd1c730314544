package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
	"strings"

	"github.com/agentkernel/kernelctl/internal/kernel"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// nobody is what an unknown agent's signature is compared with, so that it
// takes as long as a known one's.
const nobody = wire.Secret("an agent that is not registered")

func (c *call) carriesAgentHeader() bool {
	h := c.r.Header // an empty one counts, too: whoever sends it means to be an agent
	return len(h.Values(wire.HeaderAgentID)) > 0 || len(h.Values(wire.HeaderSignature)) > 0
}

// authenticateAgent verifies the signature over the raw body. Unknown agents
// and wrong signatures get the same answer. In dev mode nothing is refused; an
// absent agent id, returned as "", stands for the execution's agent.
func (c *call) authenticateAgent() (kernel.AgentID, error) {
	id, signature := c.r.Header.Get(wire.HeaderAgentID), c.r.Header.Get(wire.HeaderSignature)
	if c.s.opts.Dev {
		c.warnOfSignature(id, signature)
		return kernel.AgentID(id), nil
	}
	if id == "" || signature == "" {
		return "", unauthorized("sign the request: headers " + wire.HeaderAgentID + " and " + wire.HeaderSignature)
	}
	body, err := c.readBody()
	if err != nil {
		return "", err
	}
	secret := nobody
	agent, known := c.s.engine.Agent(kernel.AgentID(id))
	if known {
		secret = wire.Secret(agent.Secret)
	}
	if !wire.Verify(secret, body, signature) || !known {
		return "", unauthorized("the agent is not registered, or the signature does not match the body and its secret")
	}
	return agent.ID, nil
}

// warnOfSignature says once per agent, in dev mode, that a signature would be
// refused in production.
func (c *call) warnOfSignature(id, signature string) {
	if signature == "" {
		return
	}
	agent, known := c.s.engine.Agent(kernel.AgentID(id))
	body, err := c.readBody()
	if err != nil || known && wire.Verify(wire.Secret(agent.Secret), body, signature) {
		return
	}
	if _, told := c.s.warned.LoadOrStore(id, true); told {
		return
	}
	c.s.log.LogAttrs(c.r.Context(), slog.LevelWarn, "a signature is wrong: dev mode accepts it, production will not",
		slog.String("agent_id", id), slog.Bool("registered", known), slog.String("route", c.r.URL.Path))
}

// authenticateBearer compares digests, so that neither content nor length of
// the token can be felt. The empty token is never the right one, least of all
// on a server that was given none.
func (c *call) authenticateBearer() error {
	if c.s.opts.Dev {
		return nil
	}
	scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	given := sha256.Sum256([]byte(token))
	if subtle.ConstantTimeCompare(given[:], c.s.token[:]) != 1 || token == "" || !strings.EqualFold(scheme, "Bearer") {
		e := unauthorized("give the service's token: header Authorization: Bearer …")
		e.challenge = true
		return e
	}
	return nil
}

func unauthorized(message string) *apiError {
	return &apiError{code: wire.CodeUnauthorized, message: message}
}
