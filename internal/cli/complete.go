package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/cli/settings"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// The patience of completion: a shell that hangs is worse than one that does
// not know.
const (
	completeWithin = 300 * time.Millisecond
	keepWords      = 5 * time.Second
	keepFailure    = 30 * time.Second
	completeAtMost = 100
)

type completeFunc = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective)

// noFiles completes from a fixed list, and never with names of files.
func noFiles(words ...string) completeFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// source asks the server for words, each with a description behind a tab.
type source struct {
	name string
	ask  func(ctx context.Context, c *client.Client) ([]string, error)
}

// remote completes from what the server knows, for the first most arguments.
func (f *factory) remote(most int, sources ...source) completeFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		i := min(len(args), len(sources)-1)
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return f.words(cmd, args, sources[i], word), cobra.ShellCompDirectiveNoFileComp
	}
}

// words gives the words of a source that begin with what was typed, and the
// short form of ids that does: the end of an id is what lists show.
func (f *factory) words(cmd *cobra.Command, args []string, src source, typed string) []string {
	set, err := settings.Load(cmd.Flags(), f.env)
	if err != nil {
		return nil
	}
	s := &session{Settings: set, f: f, io: f.io, cmd: cmd, args: args}
	f.io.NoInput = true
	all, fresh := s.cachedWords(src.name)
	if !fresh {
		all = s.askWords(src)
	}
	var found []string
	for _, w := range all {
		name, about, _ := strings.Cut(w, "\t")
		switch short := printer.ShortID(name); {
		case strings.HasPrefix(name, typed):
			found = append(found, w)
		case partForm.MatchString(name) && strings.HasPrefix(short, typed):
			found = append(found, describe(short, about))
		}
	}
	return found
}

// askWords asks the server and keeps what it says, also that it says nothing.
func (s *session) askWords(src source) []string {
	if s.ReadsStdin() { // stdin is the shell's
		return nil
	}
	within := completeWithin
	if d, err := time.ParseDuration(s.io.Env("KERNELCTL_COMPLETE_WITHIN")); err == nil && d > 0 {
		within = d
	}
	ctx, cancel := context.WithTimeout(s.context(), within)
	defer cancel()
	token, err := s.Token(ctx, s.io.In, discard{})
	if err != nil {
		return nil
	}
	c, err := client.New(s.Server, client.Options{Token: token, UserAgent: s.f.version.UserAgent(), RequestTimeout: within, Tries: 1})
	if err != nil {
		return nil
	}
	words, err := src.ask(ctx, c)
	s.keep(src.name, words, err == nil)
	return words
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (s *session) context() context.Context {
	if ctx := s.cmd.Context(); ctx != nil {
		return ctx
	}
	return s.cmd.Root().Context() // cobra gives none to a command that it completes
}

// cached is a file of words.
type cached struct {
	Until time.Time `json:"until"`
	Words []string  `json:"words"`
}

// cachePath has a name of its own for each server, token source and question.
func (s *session) cachePath(name string) (string, bool) {
	dir, err := settings.CacheDir(s.f.env)
	if err != nil {
		return "", false
	}
	key := strings.Join(append([]string{s.Server, s.TokenOrigin(), name}, s.args...), "\x00")
	sum := sha256.Sum256([]byte(key))
	return filepath.Join(dir, "complete", hex.EncodeToString(sum[:12])+".json"), true
}

func (s *session) cachedWords(name string) (words []string, fresh bool) {
	path, ok := s.cachePath(name)
	if !ok {
		return nil, false
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, false
	}
	var c cached
	if json.Unmarshal(b, &c) != nil || !s.f.now().Before(c.Until) || c.Until.After(s.f.now().Add(keepFailure)) {
		return nil, false
	}
	return c.Words, true
}

// keep stores words. A cache that cannot be written is only slower.
func (s *session) keep(name string, words []string, good bool) {
	path, ok := s.cachePath(name)
	if !ok {
		return
	}
	c := cached{Until: s.f.now().Add(keepWords), Words: words}
	if !good {
		c.Until = s.f.now().Add(keepFailure)
	}
	b, err := json.Marshal(c)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	tmp := path + ".tmp"
	if os.WriteFile(tmp, b, 0o600) == nil {
		_ = os.Rename(tmp, path)
	}
}

func describe(id string, about ...string) string {
	return id + "\t" + strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, words(about...))
}

func executionWords() source {
	return source{"executions", func(ctx context.Context, c *client.Client) (found []string, err error) {
		page, err := c.ListExecutions(ctx, client.ExecutionFilter{Limit: completeAtMost})
		for _, x := range page.Executions {
			found = append(found, describe(x.ID, x.AgentID, string(x.Status)))
		}
		return found, err
	}}
}

func agentWords() source {
	return source{"agents", func(ctx context.Context, c *client.Client) (found []string, err error) {
		agents, err := c.ListAgents(ctx)
		for _, a := range agents {
			found = append(found, describe(a.ID, a.WebhookURL))
		}
		return found, err
	}}
}

func approvalWords(status string) source {
	return source{"approvals " + status, func(ctx context.Context, c *client.Client) (found []string, err error) {
		approvals, err := c.ListApprovals(ctx, client.ApprovalFilter{Status: status, Limit: completeAtMost})
		for _, a := range approvals {
			found = append(found, describe(a.ID, a.AgentID, a.Target, string(a.Status)))
		}
		return found, err
	}}
}

// stepWords are executions, and behind one its steps.
func (f *factory) stepWords(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return f.within(cmd, args, word, f.steps)
}

// signalWords are executions, and behind one the signal that it waits for.
func (f *factory) signalWords(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return f.within(cmd, args, word, func(id string) source {
		return source{"signals", func(ctx context.Context, c *client.Client) (found []string, err error) {
			x, err := c.GetExecution(ctx, id)
			if err != nil || x.Status != wire.ExecutionBlocked {
				return nil, err
			}
			facts, err := gather(ctx, c, x)
			if e, ok := facts.last(wire.EventExecutionBlocked); ok {
				if p := payload[wire.ExecutionPayload](e); p.Reason == blockedOnSignal {
					found = append(found, describe(p.Ref, "it waits for this"))
				}
			}
			return found, err
		}}
	})
}

// stepFlagWords are the steps of the execution that is the argument.
func (f *factory) stepFlagWords(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.within(cmd, args[:1], word, f.steps)
}

// within completes an execution and then one thing that belongs to it.
func (f *factory) within(cmd *cobra.Command, args []string, word string, of func(id string) source) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return f.words(cmd, nil, executionWords(), word), cobra.ShellCompDirectiveNoFileComp
	}
	part := idArg("execution", args[0])
	var ids []string
	if uuidForm.MatchString(part) {
		ids = []string{part}
	} else if len(part) >= minIDPart {
		for _, w := range f.words(cmd, nil, executionWords(), "") {
			if id, _, _ := strings.Cut(w, "\t"); matches(id, part) {
				ids = append(ids, id)
			}
		}
	}
	if len(args) > 1 || len(ids) != 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return f.words(cmd, args, of(ids[0]), word), cobra.ShellCompDirectiveNoFileComp
}

func (f *factory) steps(execution string) source {
	return source{"steps", func(ctx context.Context, c *client.Client) (found []string, err error) {
		steps, err := c.ListSteps(ctx, execution, "")
		for _, st := range steps {
			found = append(found, describe(st.StepID, string(st.Kind), st.Target, string(st.Status)))
		}
		return found, err
	}}
}

// nameWords are who one is by the configuration, in force and elsewhere.
func (f *factory) nameWords(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	set, err := settings.Load(cmd.Flags(), f.env)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := []string{set.User}
	for _, c := range set.Contexts {
		names = append(names, c.User)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return slices.DeleteFunc(names, func(name string) bool { return name == "" }), cobra.ShellCompDirectiveNoFileComp
}

// contextWords are the contexts of the configuration file.
func (f *factory) contextWords(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	set, err := settings.Load(cmd.Flags(), f.env)
	if err != nil || (cmd.Name() == "use" && len(args) > 0) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var found []string
	for _, c := range set.Contexts {
		found = append(found, describe(c.Name, c.Server))
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func strs[T ~string](values []T, more ...string) []string {
	found := make([]string, 0, len(values)+len(more))
	for _, v := range values {
		found = append(found, string(v))
	}
	return append(found, more...)
}

// completeAll gives every argument and every flag of the tree its completion.
// One table, so that a command cannot forget its own.
func (f *factory) completeAll(root *cobra.Command) {
	flags := map[string]completeFunc{
		"context":   f.contextWords,
		"output":    noFiles("table", "wide", "tsv", "json", "yaml", "jsonl", "name", "go-template=", "go-template-file="),
		"time":      noFiles("relative", "iso", "unix"),
		"color":     noFiles("auto", "always", "never"),
		"agent":     f.remote(many, agentWords()),
		"execution": f.remote(many, executionWords()),
		"type":      noFiles(append(strs(wire.EventTypes()), "execution.*", "step.*", "approval.*", "dispatch.*")...),
		"kind":      noFiles(strs([]wire.StepKind{wire.KindToolCall, wire.KindLLMCall, wire.KindLocal})...),
		"for":       noFiles(strs([]waitFor{forTerminal, forBlocked, forCompleted})...),
		"expect":    noFiles(strs([]wire.PolicyAction{wire.ActionAllow, wire.ActionDeny, wire.ActionRequireApproval})...),
		"field":     noFiles("args", "result", "error", "usage", "status"),
		"step":      f.stepFlagWords,
		"by":        f.nameWords,
		"screen":    noFiles("approvals", "executions", "agents", "metrics"),
		"theme":     noFiles("auto", "ansi", "dark", "light", "mono"),
		"log-level": noFiles("debug", "info", "warn", "error"), "log-format": noFiles("text", "json"),
	}
	statuses := map[string][]string{
		"executions list": strs(wire.ExecutionStatuses()),
		"export":          strs(wire.ExecutionStatuses()),
		"steps list":      strs(wire.StepStatuses()),
		"approvals list":  strs(wire.ApprovalStatuses(), wire.ApprovalsAll),
	}
	pending, anyApproval := approvalWords(string(wire.ApprovalPending)), approvalWords(wire.ApprovalsAll)
	args := map[string]completeFunc{
		"executions get": f.remote(1, executionWords()), "executions watch": f.remote(1, executionWords()),
		"executions wait": f.remote(many, executionWords()), "executions cancel": f.remote(many, executionWords()),
		"events list": f.remote(1, executionWords()), "events tail": f.remote(1, executionWords()),
		"stream": f.remote(1, executionWords()), "stream watch": f.remote(1, executionWords()),
		"steps list": f.remote(1, executionWords()), "steps get": f.stepWords,
		"approvals get": f.remote(1, anyApproval), "approvals grant": f.remote(many, pending), "approvals deny": f.remote(many, pending),
		"agents get": f.remote(1, agentWords()), "agents delete": f.remote(1, agentWords()), "agents rotate-secret": f.remote(1, agentWords()),
		"policies get": f.remote(1, agentWords()), "policies set": f.remote(1, agentWords()),
		"policies delete": f.remote(1, agentWords()), "policies test": f.remote(1, agentWords()),
		"signals send": f.signalWords, "why": f.remote(1, executionWords()), "export": f.remote(many, executionWords()),
		"config use": f.contextWords, "config set": f.settingWords,
	}
	walk(root, func(cmd *cobra.Command) {
		path := strings.TrimPrefix(cmd.CommandPath(), root.Name()+" ")
		if cmd.ValidArgsFunction == nil && cmd.ValidArgs == nil {
			if fn := args[path]; fn != nil {
				cmd.ValidArgsFunction = fn
			} else if !takesFiles(path) {
				cmd.ValidArgsFunction = noFiles()
			}
		}
		for name, fn := range flags {
			if cmd.LocalFlags().Lookup(name) != nil && cmd.InheritedFlags().Lookup(name) == nil {
				_ = cmd.RegisterFlagCompletionFunc(name, fn) // it fails for a flag that has one
			}
		}
		if words, ok := statuses[path]; ok {
			_ = cmd.RegisterFlagCompletionFunc("status", noFiles(words...))
		}
	})
}

// takesFiles are the commands whose arguments are files, or folders.
func takesFiles(path string) bool {
	return slices.Contains([]string{"policies lint", "executions view", "backup", "gen docs", "gen man", "gen schemas"}, path)
}

// settingWords are the keys of the configuration file, and behind one its
// values; the file of a token is a file.
func (f *factory) settingWords(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 0:
		return settings.KnownKeys(), cobra.ShellCompDirectiveNoFileComp
	case len(args) > 1:
		return nil, cobra.ShellCompDirectiveNoFileComp
	case args[0] == "current_context":
		return f.contextWords(cmd, nil, word)
	case strings.HasSuffix(args[0], ".read_only"), slices.Contains([]string{"utc", "no_input", "accessible"}, args[0]):
		return []string{"true", "false"}, cobra.ShellCompDirectiveNoFileComp
	case strings.HasSuffix(args[0], ".token_file"):
		return nil, cobra.ShellCompDirectiveDefault
	}
	return settings.Choices(args[0]), cobra.ShellCompDirectiveNoFileComp
}

// walk visits a command and all below it.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, c := range cmd.Commands() {
		walk(c, visit)
	}
}
