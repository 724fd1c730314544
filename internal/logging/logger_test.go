package logging_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/logging"
)

func TestSensitive(t *testing.T) {
	t.Parallel()
	tests := map[string]bool{
		"secret": true, "SECRET": true, "token": true, "bearer_token": true, "bearer-token": true, "bearerToken": true,
		"Authorization": true, "Service-Signature": true, "webhook.secret": true, "SERVICE_BEARER_TOKEN": true,
		"db_password": true, "Set-Cookie": true,
		"": false, "tokens": false, "input_tokens": false, "output_tokens": false, "token_file": false, "secretary": false,
		"status": false, "xtoken": false,
	}
	for in, want := range tests {
		if got := logging.Sensitive(in); got != want {
			t.Errorf("Sensitive(%q) = %t, want %t", in, got, want)
		}
	}
}

func TestCredentialsAreNotWritten(t *testing.T) {
	t.Parallel()
	for _, format := range []logging.Format{logging.Text, logging.JSON} {
		var out bytes.Buffer
		log := logging.New(&out, format, slog.LevelInfo).With("webhook_secret", "hunter2")
		log.Info("told", "token", "hunter2", slog.Group("authorization", "scheme", "hunter2"),
			slog.Group("headers", "service_signature", "hunter2", "accept", "json"), "input_tokens", 12)
		got := out.String()
		if strings.Contains(got, "hunter2") || strings.Count(got, "[redacted]") != 4 {
			t.Errorf("%s: a credential got through: %s", format, got)
		}
		if !strings.Contains(got, "json") || !strings.Contains(got, "12") {
			t.Errorf("%s: too much was kept back: %s", format, got)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	levels := map[string]slog.Level{
		"debug": slog.LevelDebug, "INFO": slog.LevelInfo, "warn": slog.LevelWarn, "warning": slog.LevelWarn, "error": slog.LevelError,
	}
	for in, want := range levels {
		if got, err := logging.ParseLevel(in); got != want || err != nil {
			t.Errorf("ParseLevel(%q) = %v, %v, want %v", in, got, err, want)
		}
	}
	formats := map[string]logging.Format{"text": logging.Text, "JSON": logging.JSON}
	for in, want := range formats {
		got, err := logging.ParseFormat(in)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("ParseFormat(%q): %v (-want +got)\n%s", in, err, diff)
		}
	}
	for _, in := range []string{"", "loud"} {
		if _, err := logging.ParseLevel(in); err == nil {
			t.Errorf("ParseLevel(%q) took it", in)
		}
		if _, err := logging.ParseFormat(in); err == nil {
			t.Errorf("ParseFormat(%q) took it", in)
		}
	}
}
