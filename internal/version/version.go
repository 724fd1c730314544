// Package version says which build this is. It is a leaf: server, client and
// command line import it, and it imports the standard library only.
package version

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Set by the linker: -X github.com/agentkernel/kernelctl/internal/version.version=0.3.0
// and the same for the other two. They are variables because -X needs them.
var (
	version string
	commit  string
	date    string
)

// Info describes a build.
type Info struct {
	Version string `json:"version"` // without a leading v; "dev" when nothing is known
	Commit  string `json:"commit"`  // short; empty when unknown
	Date    string `json:"date"`    // of the commit, YYYY-MM-DD; empty when unknown
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// Get is this build: what the linker stamped, else what the Go tool recorded.
func Get() Info {
	i := Info{
		Version: version, Commit: commit, Date: date,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH,
	}
	if b, ok := debug.ReadBuildInfo(); ok {
		i.fill(b)
	}
	i.Version = strings.TrimPrefix(i.Version, "v")
	if i.Version == "" || i.Version == "(devel)" {
		i.Version = "dev"
	}
	i.Commit = cut(i.Commit, 7)
	i.Date = cut(i.Date, len("2006-01-02"))
	return i
}

// fill takes from the Go tool's record what the linker did not say.
func (i *Info) fill(b *debug.BuildInfo) {
	if i.Version == "" {
		i.Version = b.Main.Version
	}
	for _, s := range b.Settings {
		switch {
		case s.Key == "vcs.revision" && i.Commit == "":
			i.Commit = s.Value
		case s.Key == "vcs.time" && i.Date == "":
			i.Date = s.Value
		}
	}
}

// String is one line: kernelctl 0.3.0 (a1b2c3d 2026-11-20) go1.26 linux/amd64.
func (i Info) String() string {
	b := []byte("kernelctl " + i.Version)
	if built := strings.TrimSpace(i.Commit + " " + i.Date); built != "" {
		b = append(b, " ("+built+")"...)
	}
	return string(append(b, " "+i.Go+" "+i.OS+"/"+i.Arch...))
}

// UserAgent is what the client calls itself in requests.
func (i Info) UserAgent() string {
	return "kernelctl/" + i.Version + " (" + i.OS + "; " + i.Arch + ")"
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n]
	}
	return s
}
