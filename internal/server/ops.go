package server

import (
	"log/slog"
	"net/http"

	"github.com/agentkernel/kernelctl/docs"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func (c *call) health() error {
	return c.writeShape(http.StatusOK, wire.Health{Status: wire.HealthOK})
}

func (c *call) readyz() error {
	if err := c.s.ready.check(c.r.Context(), c.s.engine); err != nil {
		c.log(slog.LevelWarn, "not ready", err)
		return &apiError{code: wire.CodeUnavailable, message: "the store takes no writes now: the operator's log says why"}
	}
	return c.writeShape(http.StatusOK, wire.Health{Status: wire.HealthOK})
}

func (c *call) version() error { return c.writeShape(http.StatusOK, c.s.opts.Version) }

func (c *call) openAPI() error {
	c.w.Header().Set("Content-Type", "application/yaml")
	c.w.WriteHeader(http.StatusOK)
	_, err := c.w.Write(docs.OpenAPI)
	return err
}

func (c *call) metrics() error {
	if c.s.opts.Metrics == nil {
		return notFound("metrics are off")
	}
	c.s.opts.Metrics.ServeHTTP(c.w, c.r)
	return nil
}
