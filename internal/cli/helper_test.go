package cli

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentkernel/kernelctl/internal/cli/iostreams"
	"github.com/agentkernel/kernelctl/internal/version"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// noEnv is an environment with nothing in it but a home for files.
func noEnv(dir string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "XDG_CONFIG_HOME" || name == "XDG_CACHE_HOME" {
			return dir, true
		}
		return "", false
	}
}

func quietStreams() *iostreams.Streams {
	return iostreams.New(strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{}, noEnv("/nonexistent"))
}

func testFactory() (f *factory, out, errs *bytes.Buffer) {
	out, errs = &bytes.Buffer{}, &bytes.Buffer{}
	env := noEnv("/nonexistent")
	return &factory{
		io: iostreams.New(strings.NewReader(""), out, errs, env), env: env,
		version: version.Info{Version: "test", Go: "go", OS: "linux", Arch: "amd64"}, now: time.Now,
	}, out, errs
}

// call runs a command line against a server whose transport is under test.
func call(t *testing.T, h http.HandlerFunc, args ...string) (code int, out, errs string) {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	var stdout, stderr bytes.Buffer
	code = Run(context.Background(), append(args, "-s", srv.URL),
		Stdio{In: strings.NewReader(""), Out: &stdout, Err: &stderr}, Options{LookupEnv: noEnv(t.TempDir())})
	return code, stdout.String(), stderr.String()
}

func answer(w http.ResponseWriter, v any) {
	b, err := wire.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", wire.ContentTypeJSON)
	_, _ = w.Write(b)
}
