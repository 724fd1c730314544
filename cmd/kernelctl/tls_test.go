package main

import (
	"encoding/pem"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A server behind TLS: one that is trusted, one that is not, and one that is
// taken for the other kind.
func TestTLS(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	plain, err := url.Parse(p.client.Server())
	p.must(err)
	front := httptest.NewTLSServer(httputil.NewSingleHostReverseProxy(plain))
	t.Cleanup(front.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	p.must(os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: front.Certificate().Raw}), 0o600))
	tests := []struct {
		name, server, ca string
		args             []string
		exit             int
		says             string
	}{
		{"trusted", front.URL, ca, []string{"executions", "list"}, 0, "no executions"},
		{"trusted, examined", front.URL, ca, []string{"doctor"}, 0, "ok\ttls\tTLS 1.3, certificate until "},
		{"not trusted", front.URL, "", []string{"executions", "list"}, 7, "SSL_CERT_FILE=ca.pem"},
		{"not trusted, examined", front.URL, "", []string{"doctor"}, 20, "SSL_CERT_FILE=ca.pem"},
		{"not TLS", "https://" + plain.Host, ca, []string{"executions", "list"}, 7, "--server http://" + plain.Host},
		{"not TLS, examined", "https://" + plain.Host, ca, []string{"doctor"}, 20, "--server http://" + plain.Host},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command("kernelctl", append(tt.args, "-s", tt.server)...)
			cmd.Env = append(p.server.vars(), "SSL_CERT_FILE="+tt.ca)
			out, _ := cmd.CombinedOutput() // the exit code says it
			if got := cmd.ProcessState.ExitCode(); got != tt.exit || !strings.Contains(string(out), tt.says) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got, tt.exit, tt.says, out)
			}
		})
	}
}
