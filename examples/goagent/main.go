// Command goagent is a small, complete agent on package agent: a tool, a model
// behind the recording transport, a local step, and a mail that policy.yaml lets
// through only when a person has granted it.
//
//	goagent -kernel http://127.0.0.1:8080 -id support -secret-file secret.txt
//
// Without -llm it asks a model of its own that says the same thing every time, so
// that it runs without an account anywhere.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/agentkernel/kernelctl/agent"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "goagent:", err)
		os.Exit(1)
	}
}

type config struct {
	kernel, id, secret, listen string
	llm, llmKey, model         string
}

// parse reads flags and environment. Secrets come from a file or the
// environment, never from a flag: arguments can be seen by everybody on the host.
func parse(args []string, getenv func(string) string) (config, error) {
	c := config{secret: getenv("AGENT_SECRET"), llmKey: getenv("LLM_API_KEY")}
	flags := flag.NewFlagSet("goagent", flag.ContinueOnError)
	flags.StringVar(&c.kernel, "kernel", or(getenv("KERNEL_URL"), "http://127.0.0.1:8080"), "base URL of the kernel, or KERNEL_URL")
	flags.StringVar(&c.id, "id", or(getenv("AGENT_ID"), "support"), "id the agent is registered under, or AGENT_ID")
	flags.StringVar(&c.listen, "listen", or(getenv("AGENT_LISTEN"), "127.0.0.1:9000"), "address of the webhook, or AGENT_LISTEN")
	flags.StringVar(&c.llm, "llm", getenv("LLM_URL"), "base URL of an OpenAI-compatible API, or LLM_URL; its key is LLM_API_KEY")
	flags.StringVar(&c.model, "model", or(getenv("LLM_MODEL"), "stub-1"), "model to ask, or LLM_MODEL")
	secretFile := flags.String("secret-file", "", "file with the agent's secret; else AGENT_SECRET")
	if err := flags.Parse(args); err != nil {
		return config{}, err
	}
	if *secretFile != "" {
		raw, err := os.ReadFile(*secretFile)
		if err != nil {
			return config{}, fmt.Errorf("read secret: %w", err)
		}
		c.secret = strings.TrimSpace(string(raw))
	}
	return c, nil
}

func or(value, otherwise string) string {
	if value != "" {
		return value
	}
	return otherwise
}

// run serves until ctx ends, and then lets the runs under way come to their end.
func run(ctx context.Context, args []string, getenv func(string) string, stdout io.Writer) error {
	cfg, err := parse(args, getenv)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	a, err := agent.New(agent.Options{
		BaseURL: cfg.kernel,
		AgentID: cfg.id,
		Secret:  cfg.secret,
		Logger:  slog.New(slog.NewTextHandler(stdout, nil)),
	})
	if err != nil {
		return err
	}
	support := &supportAgent{cfg: cfg, mailbox: stdout}
	if cfg.llm == "" {
		support.cfg.llm, support.network = "http://stub.invalid/v1", stubModel{}
	}
	server, url, err := serve(ctx, cfg.listen, a.Handler(support.answer))
	if err != nil {
		return fmt.Errorf("listen for webhooks: %w", err)
	}
	if _, err := fmt.Fprintf(stdout, "agent %s listens on %s\n", cfg.id, url); err != nil {
		return err
	}

	<-ctx.Done()
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return errors.Join(server.Shutdown(grace), a.Shutdown(grace))
}

// serve starts a server and returns its URL.
func serve(ctx context.Context, addr string, h http.Handler) (*http.Server, string, error) {
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, "", err
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(ln) }() // ends with Close or Shutdown, which say what went wrong
	return server, "http://" + ln.Addr().String() + "/", nil
}
