package version_test

import (
	"regexp"
	"testing"

	"github.com/agentkernel/kernelctl/internal/version"
)

func TestString(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in   version.Info
		want string
	}{
		{
			version.Info{Version: "0.3.0", Commit: "a1b2c3d", Date: "2026-11-20", Go: "go1.26", OS: "linux", Arch: "amd64"},
			"kernelctl 0.3.0 (a1b2c3d 2026-11-20) go1.26 linux/amd64",
		},
		{version.Info{Version: "dev", Go: "go1.26", OS: "linux", Arch: "arm64"}, "kernelctl dev go1.26 linux/arm64"},
		{version.Info{Version: "dev", Commit: "a1b2c3d", Go: "go1.26", OS: "linux", Arch: "arm64"}, "kernelctl dev (a1b2c3d) go1.26 linux/arm64"},
	}
	for _, tt := range tests {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("String() = %q, want %q", got, tt.want)
		}
	}
}

func TestGet(t *testing.T) {
	t.Parallel()
	got := version.Get()
	if !regexp.MustCompile(`^[0-9a-z].*$`).MatchString(got.Version) || got.Go == "" || got.OS == "" || got.Arch == "" {
		t.Errorf("Get() = %+v, want all but commit and date", got)
	}
	if ua := got.UserAgent(); !regexp.MustCompile(`^kernelctl/\S+ \(\w+; \w+\)$`).MatchString(ua) {
		t.Errorf("UserAgent() = %q", ua)
	}
}
