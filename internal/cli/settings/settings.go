package settings

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Settings are the settings in force.
type Settings struct {
	Path     string // of the configuration file
	Found    bool   // it exists
	Contexts []Context
	Context  *Context // in force; nil: none
	Explicit bool     // the context was named by a flag

	Server, User     string
	Output, Time     string
	Color, Pager     string
	RequireRationale string
	DefaultCommand   string
	UTC, NoInput     bool
	Accessible       bool
	Timeout          time.Duration // zero: the command's own
	TimeoutSet       bool          // by flag, environment or file
	RequestTimeout   time.Duration
	UI               map[string]any // the dashboard's own

	Notes []string // what may surprise
	token tokenSource

	origins map[string]string
}

// Value is a setting with its origin.
type Value struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// LookupEnv is os.LookupEnv.
type LookupEnv = func(name string) (string, bool)

// Load finds the settings. A flag that is not in flags is one that this command
// does not have.
func Load(flags *pflag.FlagSet, env LookupEnv) (*Settings, error) {
	s := &Settings{origins: map[string]string{}}
	named, err := s.findFile(flags, env)
	if err != nil {
		return nil, err
	}
	f, text, err := load(s.Path, named)
	if err != nil {
		return nil, err
	}
	s.Found, s.Contexts, s.UI = text != nil, f.Contexts, f.UI
	v, err := bind(flags, text)
	if err != nil {
		return nil, err
	}
	r := reader{s: s, v: v, flags: flags, env: env}
	if err := s.place(r, f); err != nil {
		return nil, err
	}
	return s, s.behave(r)
}

// findFile sets the path of the file; named says that someone named it, so that
// it must exist.
func (s *Settings) findFile(flags *pflag.FlagSet, env LookupEnv) (named bool, err error) {
	if f := flags.Lookup("config"); f != nil && f.Changed {
		s.Path = f.Value.String()
		return true, nil
	}
	if s.Path, _ = env("KERNELCTL_CONFIG"); s.Path != "" {
		return true, nil
	}
	s.Path, err = DefaultPath(env)
	return false, err
}

// bind makes a private viper, with nothing in it but the keys of the table.
func bind(flags *pflag.FlagSet, text []byte) (*viper.Viper, error) {
	v := viper.New()
	v.SetConfigType("yaml")
	if err := v.ReadConfig(bytes.NewReader(text)); err != nil {
		return nil, fmt.Errorf("read the configuration: %w", err)
	}
	for _, k := range Keys() {
		name := k.viperName()
		v.SetDefault(name, k.Default)
		errs := []error{v.BindEnv(name, k.Env)}
		if f := flags.Lookup(k.Flag); k.Flag != "" && f != nil {
			errs = append(errs, v.BindPFlag(name, f))
		}
		if err := errors.Join(errs...); err != nil {
			return nil, fmt.Errorf("bind setting %s: %w", name, err)
		}
	}
	return v, nil
}

// viperName is the key's own name; one that is not in the file gets a name that
// cannot be there.
func (k Key) viperName() string {
	if k.Name != "" {
		return k.Name
	}
	return "(" + k.Flag + ")"
}

// reader reads one value and its origin.
type reader struct {
	s     *Settings
	v     *viper.Viper
	flags *pflag.FlagSet
	env   LookupEnv
}

func (r reader) get(k Key) (value, origin string) {
	value = r.v.GetString(k.viperName())
	switch {
	case r.byFlag(k.Flag):
		origin = "flag --" + k.Flag
	case r.byEnv(k.Env):
		origin = "environment " + k.Env
	case k.Name != "" && r.v.InConfig(k.Name):
		origin = r.s.Path
	case k.Default != "":
		origin = "default"
	default:
		origin = "not set"
	}
	return value, origin
}

func (r reader) byFlag(name string) bool {
	f := r.flags.Lookup(name)
	return f != nil && f.Changed
}

func (r reader) byEnv(name string) bool {
	v, _ := r.env(name)
	return v != ""
}

func (r reader) flag(name string) string {
	if f := r.flags.Lookup(name); f != nil {
		return f.Value.String()
	}
	return ""
}

func (r reader) envValue(name string) string {
	v, _ := r.env(name)
	return v
}

// behave reads the settings that say how to behave.
func (s *Settings) behave(r reader) error {
	for _, k := range Keys() {
		if k.Name == "" {
			continue
		}
		value, origin := r.get(k)
		s.origins[k.Name] = origin
		if err := s.set(k.Name, value); err != nil {
			return &BadValue{Name: k.Name, Value: value, Origin: origin, Problem: err.Error()}
		}
		if k.Name == "timeout" {
			s.TimeoutSet = origin != "not set" && origin != "default"
		}
	}
	if a, _ := r.env("ACCESSIBLE"); a != "" && a != "0" && a != "false" {
		s.Accessible = true
	}
	return nil
}

// BadValue is a setting that cannot have its value.
type BadValue struct{ Name, Value, Origin, Problem string }

// Error names the setting, its value and where that came from.
func (e *BadValue) Error() string {
	return fmt.Sprintf("%s is %q (%s): %s", e.Name, e.Value, e.Origin, e.Problem)
}

func (s *Settings) set(name, value string) (err error) {
	if !validChoice(name, value) {
		return errors.New("no such choice")
	}
	switch name {
	case "output":
		s.Output = value
	case "time":
		s.Time = value
	case "color":
		s.Color = value
	case "pager":
		s.Pager = value
	case "require_rationale":
		s.RequireRationale = value
	case "default_command":
		s.DefaultCommand = value
	case "utc":
		s.UTC, err = parseBool(value)
	case "no_input":
		s.NoInput, err = parseBool(value)
	case "accessible":
		s.Accessible, err = parseBool(value)
	case "timeout":
		s.Timeout, err = parseDuration(value)
	case "request_timeout":
		s.RequestTimeout, err = parseDuration(value)
	default:
		return errors.New("no such setting") // the table and this switch disagree
	}
	return err
}

func parseBool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("want true or false")
	}
	return b, nil
}

func parseDuration(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("want a duration such as 30s, or 0 for none")
	}
	return d, nil
}

// Values lists the settings with their origins. Tokens are not shown.
func (s *Settings) Values() []Value {
	name := ""
	if s.Context != nil {
		name = s.Context.Name
	}
	vs := []Value{
		{"context", name, s.origins["context"]},
		{"server", s.Server, s.origins["server"]},
		{"user", s.User, s.origins["user"]},
		{"token", s.token.shown(), s.token.origin()},
	}
	plain := map[string]string{
		"output": s.Output, "time": s.Time, "utc": strconv.FormatBool(s.UTC), "color": s.Color,
		"timeout": durationText(s.Timeout, s.TimeoutSet), "request_timeout": s.RequestTimeout.String(),
		"require_rationale": s.RequireRationale, "pager": s.Pager, "default_command": s.DefaultCommand,
		"no_input": strconv.FormatBool(s.NoInput), "accessible": strconv.FormatBool(s.Accessible),
	}
	for _, k := range Keys() {
		if k.Name != "" {
			vs = append(vs, Value{k.Name, plain[k.Name], s.origins[k.Name]})
		}
	}
	return vs
}

func durationText(d time.Duration, set bool) string {
	if !set {
		return ""
	}
	return d.String()
}
