package settings

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Context is a place to go: a server, and who one is there.
type Context struct {
	Name         string `yaml:"name" json:"name"`
	Server       string `yaml:"server" json:"server"`
	User         string `yaml:"user,omitempty" json:"user,omitempty"`                   // decides approvals
	Token        string `yaml:"token,omitempty" json:"-"`                               // the file must be private then
	TokenFile    string `yaml:"token_file,omitempty" json:"token_file,omitempty"`       // first line
	TokenCommand string `yaml:"token_command,omitempty" json:"token_command,omitempty"` // first line of its output
	ReadOnly     bool   `yaml:"read_only,omitempty" json:"read_only"`                   // writes are refused
	Color        string `yaml:"color,omitempty" json:"color,omitempty"`                 // of the dashboard's header
}

// file is the configuration file. Its scalar values are read by viper; they are
// here so that an unknown or misspelled key is found.
type file struct {
	CurrentContext   string         `yaml:"current_context"`
	Contexts         []Context      `yaml:"contexts"`
	Output           string         `yaml:"output"`
	Time             string         `yaml:"time"`
	UTC              bool           `yaml:"utc"`
	Color            string         `yaml:"color"`
	Timeout          string         `yaml:"timeout"`
	RequestTimeout   string         `yaml:"request_timeout"`
	RequireRationale string         `yaml:"require_rationale"`
	Pager            string         `yaml:"pager"`
	DefaultCommand   string         `yaml:"default_command"`
	NoInput          bool           `yaml:"no_input"`
	Accessible       bool           `yaml:"accessible"`
	UpdateCheck      bool           `yaml:"update_check"`
	UI               map[string]any `yaml:"ui"` // the dashboard's own
}

// Invalid is a configuration file that cannot be used.
type Invalid struct {
	Path    string
	Problem string
	Fix     string // a command that helps; may be empty
}

// Error names the file and the problem.
func (e *Invalid) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Problem) }

var unknownField = regexp.MustCompile(`field (\S+) not found in type \S+`)

// parse reads a file strictly.
func parse(path string, text []byte) (*file, error) {
	f := &file{}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(f); err != nil && !errors.Is(err, io.EOF) {
		problem := strings.TrimPrefix(err.Error(), "yaml: ")
		problem = strings.TrimPrefix(problem, "unmarshal errors:\n  ")
		problem = unknownField.ReplaceAllString(problem, "unknown key $1")
		return nil, &Invalid{Path: path, Problem: strings.ReplaceAll(problem, "\n  ", "; ")}
	}
	if problem := f.check(); problem != "" {
		return nil, &Invalid{Path: path, Problem: problem}
	}
	return f, nil
}

func (f *file) check() string {
	if f.UpdateCheck {
		return "update_check: this version looks for no updates; leave the key out"
	}
	seen := map[string]bool{}
	for i, c := range f.Contexts {
		switch {
		case c.Name == "":
			return fmt.Sprintf("context %d has no name", i+1)
		case seen[c.Name]:
			return fmt.Sprintf("there are two contexts named %s", c.Name)
		case c.Server == "":
			return fmt.Sprintf("context %s has no server", c.Name)
		case countSet(c.Token, c.TokenFile, c.TokenCommand) > 1:
			return fmt.Sprintf("context %s: only one of token, token_file and token_command", c.Name)
		}
		seen[c.Name] = true
	}
	for name, v := range map[string]string{
		"time": f.Time, "color": f.Color, "require_rationale": f.RequireRationale, "default_command": f.DefaultCommand,
	} {
		if !validChoice(name, v) {
			return fmt.Sprintf("%s: %q is not one of the values it can have", name, v)
		}
	}
	for name, v := range map[string]string{"timeout": f.Timeout, "request_timeout": f.RequestTimeout} {
		if _, err := time.ParseDuration(v); v != "" && err != nil {
			return fmt.Sprintf("%s: %q is not a duration such as 30s", name, v)
		}
	}
	return ""
}

func countSet(values ...string) (n int) {
	for _, v := range values {
		if v != "" {
			n++
		}
	}
	return n
}

func (f *file) context(name string) *Context {
	for i := range f.Contexts {
		if f.Contexts[i].Name == name {
			return &f.Contexts[i]
		}
	}
	return nil
}

func (f *file) hasToken() bool {
	for _, c := range f.Contexts {
		if c.Token != "" {
			return true
		}
	}
	return false
}

// load reads the file at path; a missing one is empty, unless it was named.
func load(path string, named bool) (f *file, text []byte, err error) {
	text, err = os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !named:
		return &file{}, nil, nil
	case err != nil:
		return nil, nil, &Invalid{Path: path, Problem: "cannot be read: " + reason(err)}
	}
	if f, err = parse(path, text); err != nil {
		return nil, nil, err
	}
	if f.hasToken() {
		if mode, open := tooOpen(path); open {
			return nil, nil, &Invalid{
				Path: path, Problem: fmt.Sprintf("there is a token inside, and others may read the file (mode %04o)", mode),
				Fix: "chmod 600 " + path,
			}
		}
	}
	return f, text, nil
}

func reason(err error) string {
	if e := (*fs.PathError)(nil); errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// tooOpen reports whether others than the owner may read the file.
func tooOpen(path string) (mode fs.FileMode, open bool) {
	if runtime.GOOS == "windows" {
		return 0, false
	}
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	return info.Mode().Perm(), info.Mode().Perm()&0o077 != 0
}

// DefaultPath is where the configuration file is when nobody says otherwise.
// On macOS it is under ~/.config, too.
func DefaultPath(env func(string) (string, bool)) (string, error) {
	dir, err := ownDir(env, "XDG_CONFIG_HOME", ".config", os.UserConfigDir)
	return filepath.Join(dir, "config.yaml"), err
}

// CacheDir is where what can be asked for again is kept.
func CacheDir(env func(string) (string, bool)) (string, error) {
	return ownDir(env, "XDG_CACHE_HOME", ".cache", os.UserCacheDir)
}

// StateDir is where the program keeps what it may lose, but not at every start:
// the log of a server whose terminal shows something else.
func StateDir(env func(string) (string, bool)) (string, error) {
	return ownDir(env, "XDG_STATE_HOME", filepath.Join(".local", "state"), os.UserCacheDir)
}

// ownDir is a folder of this program: below what the variable says, else below
// the home folder, and on Windows where such things are.
func ownDir(env func(string) (string, bool), name, home string, windows func() (string, error)) (string, error) {
	if dir, _ := env(name); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kernelctl"), nil
	}
	if runtime.GOOS == "windows" {
		dir, err := windows()
		return filepath.Join(dir, "kernelctl"), err
	}
	dir, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the home directory: %w", err)
	}
	return filepath.Join(dir, home, "kernelctl"), nil
}
