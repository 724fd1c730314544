package tui

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/tui/text"
)

// conn is what is known of the connection.
type conn struct {
	up       bool // the feed is there
	everUp   bool
	noFeed   bool // the service has none: ask again and again
	denied   bool // 401
	sick     bool // the last question of health had no answer
	since    time.Time
	err      error
	retryAt  time.Time // when the feed tries again; zero: by itself
	lastGood time.Time
	redial   bool // the feed ended: open it anew at retryAt
}

func (c *conn) good(now time.Time) { c.lastGood = now }

// online reports whether what is shown is what is.
func (c *conn) online() bool { return (c.up || c.noFeed) && !c.sick && !c.denied }

func (c *conn) due(now time.Time) bool { return c.redial && !now.Before(c.retryAt) }

// link takes what the feed tells of its connection.
func (m *Model) link(k client.Link) tea.Cmd {
	now := m.now()
	c := &m.conn
	if k.Up {
		c.up, c.everUp, c.sick, c.denied, c.redial, c.err = true, true, false, false, false, nil
		c.good(now)
		if k.Outage > 0 {
			m.say("connected again after %s", ago(k.Outage))
			m.file.note(now, "connected again after "+k.Outage.String())
		}
		m.approvalsAsked = false
		return m.askAll()
	}
	if c.up || c.since.IsZero() {
		c.since = now
		m.file.note(now, "connection lost: "+reason(k.Err))
	}
	c.up, c.err, c.retryAt = false, k.Err, now.Add(k.Retry)
	return nil
}

// refused takes the end of the feed.
func (m *Model) refused(err error) tea.Cmd {
	c := &m.conn
	now := m.now()
	if c.up {
		c.since = now
	}
	c.up, c.err = false, err
	switch client.StatusOf(err) {
	case 401, 403:
		c.denied = true
		return nil
	case 404, 405, 406:
		c.noFeed = true
		return m.askAll()
	}
	c.redial, c.retryAt = true, now.Add(5*time.Second)
	return nil
}

// checked takes the answer of health.
func (m *Model) checked(h healthMsg) {
	c := &m.conn
	if h.err == nil || client.StatusOf(h.err) > 0 {
		m.offset = h.offset
		c.sick = false
		c.good(m.now())
		return
	}
	if !c.sick && c.up {
		c.since = m.now()
	}
	c.sick, c.err = true, h.err
}

// banner is the second line when something is wrong; empty when nothing is.
func (m *Model) banner() string {
	c := &m.conn
	now := m.now()
	switch {
	case c.denied:
		return fmt.Sprintf("token refused by %s; :ctx NAME switches, %s tries again", text.Clean(m.place.Client.Server()), m.keys.name(actRefresh))
	case c.online():
		return ""
	case !c.everUp && c.err == nil:
		return "connecting to " + text.Clean(m.place.Client.Server())
	}
	s := fmt.Sprintf("offline %s: %s", ago(now.Sub(c.since)), reason(c.err))
	if d := c.retryAt.Sub(now); d > 0 {
		return fmt.Sprintf("%s; retry in %s (%s now)", s, ago(d+time.Second), m.keys.name(actRefresh))
	}
	return fmt.Sprintf("%s; trying again (%s now)", s, m.keys.name(actRefresh))
}

// reason is why a connection is gone, in few words.
func reason(err error) string {
	switch {
	case err == nil:
		return "no answer"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	}
	if e := (*client.ConnectionError)(nil); errors.As(err, &e) {
		if e.Timeout {
			return "no answer in time"
		}
		err = e.Err
	}
	return text.Cut(text.Clean(err.Error()), 80)
}

// live is the age of the last good answer.
func (m *Model) live() string {
	c := &m.conn
	if !c.online() {
		return m.th.paint(tokBad, "offline")
	}
	age := m.now().Sub(c.lastGood)
	if age > 5*time.Second {
		return m.th.paint(tokWarn, "stale "+ago(age))
	}
	word := "live"
	if c.noFeed {
		word = "polling"
	}
	return m.th.paint(tokOK, word) + " " + ago(age)
}
