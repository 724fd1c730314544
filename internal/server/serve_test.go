package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/agentkernel/kernelctl/internal/daemon/daemontest"
)

// serve gives a handler one request, without a network.
func serve(h http.Handler, method, path, body string, opts ...daemontest.Option) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	for _, o := range opts {
		o(r, body)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}
