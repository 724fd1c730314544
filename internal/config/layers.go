package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
	"gopkg.in/yaml.v3"
)

// rank says where a value came from; the highest that has one wins.
type rank uint8

const (
	fromDefault rank = iota
	fromFile
	fromEnv
	fromFlag
)

// layers are the settings with every place that may give them.
type layers struct {
	fs       *pflag.FlagSet
	env      func(string) (string, bool)
	values   *viper.Viper
	file     *manifestFile // nil without --config
	problems problems
}

// newLayers binds every setting by name. The environment is the one that was
// handed in: viper.BindEnv knows only that of the process.
func newLayers(fs *pflag.FlagSet, env func(string) (string, bool)) (*layers, error) {
	l := &layers{fs: fs, env: env, values: viper.New()}
	for _, s := range settings {
		l.values.SetDefault(s.name, s.fallback)
		flag := fs.Lookup(s.name)
		if flag == nil {
			return nil, fmt.Errorf("flag --%s is not registered", s.name)
		}
		if err := l.values.BindPFlag(s.name, flag); err != nil {
			return nil, fmt.Errorf("bind --%s: %w", s.name, err)
		}
		if value, ok := l.variable(s); ok && !flag.Changed {
			l.values.Set(s.name, value)
		}
	}
	return l, nil
}

// variable is the setting's environment variable; one that is empty counts as not set.
func (l *layers) variable(s setting) (string, bool) {
	value, ok := l.env(s.env())
	return value, ok && value != ""
}

// readFile adds the manifest, below flags and environment.
func (l *layers) readFile(path string) error {
	l.file = readManifest(path, l.env)
	given := make(map[string]any, len(l.file.settings))
	for name, v := range l.file.settings {
		given[name] = v.text
	}
	return l.values.MergeConfigMap(given)
}

// text is the value of a setting.
func (l *layers) text(name string) string { return l.values.GetString(name) }

// rank is where the value of a setting comes from.
func (l *layers) rank(name string) rank {
	switch {
	case l.fs.Changed(name):
		return fromFlag
	case l.fromEnv(name):
		return fromEnv
	case l.file != nil && l.file.settings[name].node != nil:
		return fromFile
	}
	return fromDefault
}

func (l *layers) fromEnv(name string) bool {
	_, ok := l.variable(setting{name: name})
	return ok
}

// problem reports what is wrong with a setting, and where it came from.
func (l *layers) problem(name, format string, args ...any) {
	p := Problem{Field: name, Problem: fmt.Sprintf(format, args...)}
	switch l.rank(name) {
	case fromFlag:
		p.Source = "--" + name
	case fromEnv:
		p.Source = setting{name: name}.env()
	case fromFile:
		given := l.file.settings[name]
		if given.reported {
			return
		}
		p.Source, p.Line, p.Column = l.file.path, given.node.Line, given.node.Column
		p.Field = "server." + strings.ReplaceAll(name, "-", "_")
	case fromDefault:
	}
	l.problems = append(l.problems, p)
}

// shown is the value of a setting for a message: as it is written, before
// anything of the environment was put into it.
func (l *layers) shown(name string) string {
	value := l.text(name)
	if l.rank(name) == fromFile {
		value = l.file.settings[name].node.Value
	}
	return strconv.Quote(clip(value))
}

// server reads the settings of the manifest.
func (f *manifestFile) server(m member) {
	underscored := func(key string) string { return strings.ReplaceAll(key, "-", "_") }
	keys, ok := f.members(m.value, "server", fileKeys(), underscored)
	if !ok {
		return
	}
	for key, m := range keys {
		name := strings.ReplaceAll(key, "_", "-")
		text, ok := f.setting(m, "server."+key, name == keyWebhookAllow)
		f.settings[name] = fileValue{text: text, node: m.value, reported: !ok}
	}
}

// setting reads a setting; a list of texts is joined with commas.
func (f *manifestFile) setting(m member, field string, list bool) (string, bool) {
	if !list || m.value.Kind != yaml.SequenceNode {
		return f.text(m.value, field)
	}
	if len(m.value.Content) == 0 {
		f.at(m.value, field, "must not be empty; leave it out if it is not needed")
	}
	texts := make([]string, 0, len(m.value.Content))
	for i, item := range m.value.Content {
		if text, ok := f.text(item, field+"["+strconv.Itoa(i)+"]"); ok {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, ","), len(texts) > 0 && len(texts) == len(m.value.Content)
}
