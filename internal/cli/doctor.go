package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/agentkernel/kernelctl/internal/cli/exit"
	"github.com/agentkernel/kernelctl/internal/cli/printer"
	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

func newDoctor(f *factory) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check configuration, connection, server and terminal",
		Long: `Checks what this tool needs: the configuration and its permissions, the name and
certificate of the server, whether it is healthy and ready, whether it takes the
token, how far its clock is off, its version, and the terminal. Each line is ok,
warn or FAIL, and says how to mend it. Exit 20 when one fails.`,
		Example: `  kernelctl doctor
  kernelctl doctor -c prod -o json`,
		Args: takes(0, 0, ""),
	}
	cmd.RunE = f.do(traits{lenient: true}, func(ctx context.Context, s *session) error {
		d := &doctor{s: s}
		d.examine(ctx)
		return d.report()
	})
	return cmd
}

type doctor struct {
	s     *session
	found []Diagnosis
}

func (d *doctor) ok(check, format string, args ...any) {
	d.found = append(d.found, Diagnosis{Level: LevelOK, Check: check, Text: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, fix, format string, args ...any) {
	d.found = append(d.found, Diagnosis{Level: LevelWarn, Check: check, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (d *doctor) fail(check, fix, format string, args ...any) {
	d.found = append(d.found, Diagnosis{Level: LevelFail, Check: check, Text: fmt.Sprintf(format, args...), Fix: fix})
}

func (d *doctor) examine(ctx context.Context) {
	if d.configuration() {
		d.token()
		d.server(ctx)
	}
	d.terminal()
}

// configuration reports whether the settings can be used.
func (d *doctor) configuration() bool {
	s := d.s
	if s.settingsErr != nil {
		e := explain(s.settingsErr)
		d.fail("config", e.Next, "%s", e.Error())
		return false
	}
	switch {
	case !s.Found:
		d.ok("config", "no file at %s; defaults and environment are used", s.Path)
	case s.Context != nil:
		d.ok("config", "%s, context %s", s.Path, s.Context.Name)
	default:
		d.ok("config", "%s", s.Path)
	}
	return true
}

func (d *doctor) token() {
	s := d.s
	if mode, open := s.TokenFileOpen(); open {
		d.warn("token file", "chmod 600 "+s.TokenFile(), "others may read %s (mode %04o)", s.TokenFile(), mode)
	}
	u, err := client.ParseServer(s.Server)
	if err == nil && u.Scheme == "http" && !client.IsLoopback(u) && s.TokenOrigin() != "not set" {
		d.warn("token", "use an https address", "the token goes to %s unencrypted", u.Host)
	}
}

func (d *doctor) server(ctx context.Context) {
	u, err := client.ParseServer(d.s.Server)
	if err != nil {
		d.fail("server", "kernelctl config view --origin", "%v", err)
		return
	}
	if !d.resolve(ctx, u) {
		return
	}
	c, err := d.s.connect(ctx)
	if err != nil {
		e := explain(err)
		d.fail("token", e.Next, "%s", e.Error())
		return
	}
	if d.health(ctx, c) {
		d.certificate(ctx, u)
		d.ready(ctx, c)
		d.access(ctx, c)
		d.clock(c)
		d.versions(ctx, c)
	}
}

func (d *doctor) resolve(ctx context.Context, u *url.URL) bool {
	host := u.Hostname()
	if net.ParseIP(host) != nil {
		return true
	}
	addresses, err := net.DefaultResolver.LookupHost(ctx, host)
	if err != nil {
		d.fail("dns", "check the name in --server, and the network", "%s cannot be found: %v", host, reasonOf(err))
		return false
	}
	d.ok("dns", "%s is %s", host, strings.Join(addresses, ", "))
	return true
}

func reasonOf(err error) string {
	if e := (*net.DNSError)(nil); errors.As(err, &e) {
		return e.Err
	}
	return err.Error()
}

func (d *doctor) health(ctx context.Context, c *client.Client) bool {
	began := time.Now()
	if _, err := c.Health(ctx); err != nil {
		e := explain(err)
		if e.Next == "kernelctl doctor" {
			e.Next = "check --server, and what stands between: kernelctl config view --origin"
		}
		d.fail("server", e.Next, "%s", e.Error())
		return false
	}
	d.ok("server", "%s answers in %s", c.Server(), printer.Took(time.Since(began)))
	return true
}

// renewal is how long before its end a certificate should have been renewed.
const renewal = 14 * 24 * time.Hour

// certificate says what protects the connection, when it is direct: behind a
// proxy it is the proxy's.
func (d *doctor) certificate(ctx context.Context, u *url.URL) {
	if u.Scheme != "https" {
		return
	}
	if proxy, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err != nil || proxy != nil {
		return
	}
	port := u.Port()
	if port == "" {
		port = "443"
	}
	dialed, err := new(tls.Dialer).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		d.fail("tls", "check the certificate of the server", "%v", err)
		return
	}
	defer func() { _ = dialed.Close() }() // nothing was sent
	conn, ok := dialed.(*tls.Conn)
	if !ok || len(conn.ConnectionState().PeerCertificates) == 0 {
		return
	}
	state := conn.ConnectionState()
	ends := state.PeerCertificates[0].NotAfter
	said := fmt.Sprintf("%s, certificate until %s", tls.VersionName(state.Version), ends.UTC().Format(time.DateOnly))
	if left := ends.Sub(d.s.now()); left < renewal {
		d.warn("tls", "renew the certificate", "%s, in %s", said, printer.Left(left))
		return
	}
	d.ok("tls", "%s", said)
}

func (d *doctor) ready(ctx context.Context, c *client.Client) {
	if _, err := c.Ready(ctx); err != nil {
		d.fail("ready", "look at the server's log and its disk", "the server is not ready: %s", explain(err).What)
		return
	}
	d.ok("ready", "the server's store takes writes")
}

// access asks for something that needs the token.
func (d *doctor) access(ctx context.Context, c *client.Client) {
	_, err := c.ListExecutions(ctx, client.ExecutionFilter{Limit: 1})
	switch {
	case client.CodeOf(err) == wire.CodeUnauthorized && !c.HasToken():
		d.fail("auth", "set KERNELCTL_TOKEN or --token-file PATH", "the server wants a token, and there is none")
	case client.CodeOf(err) == wire.CodeUnauthorized:
		d.fail("auth", "kernelctl config view --origin", "the server refuses the token (%s)", d.s.TokenOrigin())
	case err != nil:
		d.fail("auth", explain(err).Next, "%s", explain(err).Error())
	case c.HasToken():
		d.ok("auth", "the server takes the token (%s)", d.s.TokenOrigin())
	default:
		d.ok("auth", "the server wants no token")
	}
}

// maxSkew is how far two clocks may be apart before times look wrong.
const maxSkew = 5 * time.Second

func (d *doctor) clock(c *client.Client) {
	off, known := c.ClockOffset()
	switch {
	case !known:
		d.warn("clock", "check what stands between", "the server does not say its time")
	case off.Abs() > maxSkew:
		d.warn("clock", "synchronize the clocks (NTP)", "the server's clock is %s off; times are shown by the server's", off.Round(time.Second))
	default:
		d.ok("clock", "agrees with the server's to within %s", maxSkew)
	}
}

func (d *doctor) versions(ctx context.Context, c *client.Client) {
	mine := d.s.f.version.Version
	v, err := c.Version(ctx)
	switch {
	case err != nil:
		d.warn("version", "this may be another service of the same protocol", "the server does not say its version: %s", explain(err).What)
	case v.Version != mine:
		d.warn("version", "use the same version on both sides", "the server is %s, this is %s", v.Version, mine)
	default:
		d.ok("version", "%s on both sides", mine)
	}
}

// terminal says what the terminal can do. Nothing about it is an error.
func (d *doctor) terminal() {
	io := d.s.io
	if !io.OutTTY {
		d.ok("terminal", "stdout is none: tab-separated values, no colour")
		return
	}
	color := "colour"
	if !io.ColorOut() {
		color = "no colour"
	}
	d.ok("terminal", "%dx%d, %s, TERM=%s", io.Width, io.Height, color, io.Env("TERM"))
	if io.Width < 60 || io.Height < 15 {
		d.warn("terminal", "make it larger", "%dx%d is too small for the dashboard, which needs 60x15", io.Width, io.Height)
	}
	if !utf8Locale(io.Env) {
		d.warn("locale", "set LC_ALL or LANG to a UTF-8 locale", "the locale is not UTF-8: some characters may look wrong")
	}
	if io.Env("SSH_TTY") != "" || io.Env("TMUX") != "" {
		d.ok("clipboard", "copies go through the terminal (OSC 52); a multiplexer must let them pass")
	}
}

func utf8Locale(env func(string) string) bool {
	if os.PathSeparator == '\\' {
		return true
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}

func (d *doctor) report() error {
	if err := printDiagnoses(d.s.printer(), d.found); err != nil {
		return err
	}
	var failed []string
	for _, f := range d.found {
		if f.Level == LevelFail {
			failed = append(failed, f.Check)
		}
	}
	if len(failed) == 0 {
		return nil
	}
	return &exit.Error{Code: exit.CheckFailed, What: printer.Counted(len(failed), "check") + " failed", Why: strings.Join(failed, ", ")}
}
