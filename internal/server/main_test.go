package server_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/agentkernel/kernelctl/internal/daemon"
	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newService runs a service all of whose answers are held to the documents.
func newService(t *testing.T, opts daemon.Options) *daemontest.Service {
	t.Helper()
	s := daemontest.New(t, opts)
	s.HTTP.Transport = &conform{t: t, next: s.HTTP.Transport, api: loadAPI(t)}
	return s
}
