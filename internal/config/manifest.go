package config

import (
	"cmp"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Manifest is what a provisioning manifest asks for, checked.
type Manifest struct {
	Path   string // "" when there is none
	Agents []Agent
}

// Agent is an agent to register, replacing one of the same id.
type Agent struct {
	ID           string
	WebhookURL   string
	Secret       wire.Secret
	LeaseTimeout time.Duration // 0: the service's default
	Policy       []byte        // text of a bundle that compiles; nil: leave the one that is loaded
}

// LoadManifest reads and checks a manifest, and the policy files that it names.
// The error for one that is refused is an [*Invalid].
func LoadManifest(path string, env func(string) (string, bool)) (Manifest, error) {
	return readManifest(path, env).result()
}

// ParseManifest is [LoadManifest] for a text that stands, or seems to stand, at path.
func ParseManifest(path string, src []byte, env func(string) (string, bool)) (Manifest, error) {
	f := newManifestFile(path, env)
	f.read(src)
	return f.result()
}

// manifestFile is a manifest that is being read.
type manifestFile struct {
	document
	manifest Manifest
	settings map[string]fileValue // of its server section, by the name of the flag
	ids      map[string]int       // lines of the agents' ids
	policies map[string][]byte    // policy files that were read, by path; nil after a problem
}

// fileValue is a setting that the manifest gives.
type fileValue struct {
	text     string
	node     *yaml.Node
	reported bool // it could not be read, which is among the problems already
}

func newManifestFile(path string, env func(string) (string, bool)) *manifestFile {
	return &manifestFile{
		document: document{path: path, env: env}, manifest: Manifest{Path: path},
		settings: map[string]fileValue{}, ids: map[string]int{}, policies: map[string][]byte{},
	}
}

func (f *manifestFile) result() (Manifest, error) {
	if err := f.sorted().err(); err != nil {
		return Manifest{}, err
	}
	return f.manifest, nil
}

// sorted are the problems in the order of the text, those of policy files after them.
func (f *manifestFile) sorted() problems {
	slices.SortStableFunc(f.problems, func(x, y Problem) int {
		return cmp.Or(f.fileRank(x)-f.fileRank(y), cmp.Compare(x.Source, y.Source), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column))
	})
	return f.problems
}

func (f *manifestFile) fileRank(p Problem) int {
	if p.Source == f.path {
		return 0
	}
	return 1
}

func readManifest(path string, env func(string) (string, bool)) *manifestFile {
	f := newManifestFile(path, env)
	src, err := readFile(path, maxManifest)
	if err != nil {
		f.problems = append(f.problems, Problem{Field: "manifest", Problem: "cannot read " + strconv.Quote(path) + ": " + err.Error()})
		return f
	}
	f.read(src)
	return f
}

func (f *manifestFile) read(src []byte) {
	root := f.parse(src)
	if root == nil {
		return
	}
	sections, ok := f.members(root, "", []string{"agents", "server"}, asWritten)
	if !ok {
		return
	}
	if m, ok := sections["server"]; ok {
		f.server(m)
	}
	m, ok := sections["agents"]
	if !ok {
		return
	}
	if m.value.Kind != yaml.SequenceNode {
		f.mismatch(m.value, "agents", "a list of agents")
		return
	}
	for i, item := range m.value.Content {
		f.agent(item, "agents["+strconv.Itoa(i)+"]")
	}
}

func asWritten(key string) string { return key }

var agentKeys = []string{"id", "webhook_url", "secret", "lease_timeout_seconds", "policy_file", "policy"}

func (f *manifestFile) agent(n *yaml.Node, field string) {
	keys, ok := f.members(n, field, agentKeys, asWritten)
	if !ok {
		return
	}
	var a Agent
	a.ID = f.required(n, keys, field, "id", wire.ValidateAgentID)
	a.WebhookURL = f.required(n, keys, field, "webhook_url", wire.ValidateWebhookURL)
	a.Secret = wire.Secret(f.required(n, keys, field, "secret", func(s string) error { return wire.ValidateSecret(wire.Secret(s)) }))
	if a.ID != "" {
		if first := f.ids[a.ID]; first > 0 {
			f.at(keys["id"].value, field+".id", "duplicate id, first used on line %d", first)
		} else {
			f.ids[a.ID] = keys["id"].value.Line
		}
	}
	if m, ok := keys["lease_timeout_seconds"]; ok {
		a.LeaseTimeout = f.leaseTimeout(m.value, field+".lease_timeout_seconds")
	}
	a.Policy = f.policy(keys, field)
	f.manifest.Agents = append(f.manifest.Agents, a)
}

// required reads a text that must be there; "" after a problem.
func (f *manifestFile) required(n *yaml.Node, keys map[string]member, field, key string, check func(string) error) string {
	m, ok := keys[key]
	if !ok {
		f.at(n, field+"."+key, "is missing: every agent needs one")
		return ""
	}
	text, ok := f.text(m.value, field+"."+key)
	if !ok {
		return ""
	}
	if err := check(text); err != nil {
		f.at(m.value, field+"."+key, "%s", err)
		return ""
	}
	return text
}

func (f *manifestFile) leaseTimeout(n *yaml.Node, field string) time.Duration {
	text, ok := f.text(n, field)
	if !ok {
		return 0
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f.at(n, field, "must be a whole number of seconds, such as 60")
		return 0
	}
	if err := wire.ValidateLeaseTimeoutSeconds(seconds); err != nil {
		f.at(n, field, "%s", err)
		return 0
	}
	if seconds < wire.MinLeaseTimeoutSeconds {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

// beside is a path that is relative to the manifest's folder.
func (f *manifestFile) beside(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(f.path), path)
}
