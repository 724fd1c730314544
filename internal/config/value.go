package config

import (
	"net"
	"net/netip"
	"path"
	"strconv"
	"strings"
	"time"
)

// positive is the least of the durations that must not be zero.
const positive time.Duration = 1

// duration reads a duration that is not below a least one.
func (l *layers) duration(name string, least time.Duration) time.Duration {
	d, err := time.ParseDuration(l.text(name))
	switch {
	case err != nil:
		l.problem(name, "%s is not a duration: write a number and a unit, such as 30s, 5m or 720h", l.shown(name))
	case d < 0:
		l.problem(name, "must not be negative, not %s", l.shown(name))
	case d < least && least == positive:
		l.problem(name, "must be longer than zero, not %s", l.shown(name))
	case d < least:
		l.problem(name, "must be at least %s, not %s", least, l.shown(name))
	}
	return d
}

// number reads a whole number within bounds.
func (l *layers) number(name string, least, most int64) int64 {
	n, err := strconv.ParseInt(l.text(name), 10, 64)
	if err != nil || n < least || n > most {
		l.problem(name, "must be a whole number from %d to %d, not %s", least, most, l.shown(name))
	}
	return n
}

// parsed reads a value of a few words; the error of parse says which.
func parsed[T any](l *layers, name string, parse func(string) (T, error)) T {
	v, err := parse(l.text(name))
	if err != nil {
		l.problem(name, "%s", err)
	}
	return v
}

// listen reads the address to listen on; local means that only this machine
// may reach it.
func (l *layers) listen(local bool) string {
	address := l.text(keyListen)
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	switch {
	case err != nil || strings.ContainsAny(host, "/ "):
		l.problem(keyListen, "%s is not an address: write host:port, such as 127.0.0.1:8080, or :8080 for every interface", l.shown(keyListen))
	case local && !loopback(host):
		l.problem(keyListen, "%s can be reached from elsewhere, and --dev asks for no credentials: listen on 127.0.0.1, or add --dev-allow-remote", l.shown(keyListen))
	}
	return address
}

func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// patterns reads host patterns.
func (l *layers) patterns(name string) []string {
	if l.rank(name) == fromDefault {
		return nil
	}
	all := strings.Split(l.text(name), ",")
	for i, p := range all {
		all[i] = strings.TrimSpace(p)
		if !validPattern(all[i]) {
			l.problem(name, "%s is not a host pattern: write a host name or an IP address without scheme, port and path; * stands for any characters, ? for one", strconv.Quote(clip(all[i])))
		}
	}
	return all
}

func validPattern(p string) bool {
	if _, err := netip.ParseAddr(p); err == nil {
		return true
	}
	if _, err := path.Match(p, ""); err != nil || p == "" {
		return false
	}
	return !strings.ContainsAny(p, "/:@[]\\ \t")
}
