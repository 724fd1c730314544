package tui

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// metricsScreen shows the service in numbers: what its metrics say, and what
// the feed brought.
type metricsScreen struct {
	now, old   samples
	at, before time.Time
	problem    string
	pending    int
	fresh      int   // events since the last second that was drawn
	perSecond  []int // events of the feed
	stepsPast  []float64
	asked      bool
}

type metricsMsg struct {
	gen  int
	text []byte
	err  error
}

func sortBy[T any, K cmp.Ordered](s []T, key func(T) K) {
	slices.SortFunc(s, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
}

func (m *Model) askMetrics() tea.Cmd {
	if m.me.asked {
		return nil
	}
	m.me.asked = true
	c, gen := m.place.Client, m.gen
	return m.life.ask(healthLimit, func(ctx context.Context) tea.Msg {
		b, err := c.Metrics(ctx)
		return metricsMsg{gen, b, err}
	})
}

func (s *metricsScreen) count(change) { s.fresh++ }

// maxPast is how many seconds and scrapes the lines of history hold.
const maxPast = 120

// second moves the history of the feed on.
func (s *metricsScreen) second() {
	s.perSecond = append(s.perSecond, s.fresh)
	s.fresh = 0
	if len(s.perSecond) > maxPast {
		s.perSecond = s.perSecond[1:]
	}
}

func (s *metricsScreen) got(m *Model, msg metricsMsg) {
	s.asked = false
	if msg.err != nil {
		s.problem = "the metrics are not to be had: " + reason(msg.err)
		return
	}
	s.problem = ""
	s.old, s.before = s.now, s.at
	s.now, s.at = parseSamples(msg.text), m.now()
	if r, ok := s.rate("kernelctl_steps_total"); ok {
		s.stepsPast = append(s.stepsPast, r)
		if len(s.stepsPast) > maxPast {
			s.stepsPast = s.stepsPast[1:]
		}
	}
}

// rate is a counter's growth a second between the last two scrapes.
func (s *metricsScreen) rate(name string, labels ...string) (float64, bool) {
	a, ok := s.old.sum(name, labels...)
	b, ok2 := s.now.sum(name, labels...)
	d := s.at.Sub(s.before).Seconds()
	if s.old == nil || !ok2 || d <= 0 {
		return 0, false
	}
	if !ok {
		a = 0
	}
	return max(b-a, 0) / d, true
}

// The forms of numbers on the screen; "-" stands for what is not known.

func (s *metricsScreen) gauge(name string, labels ...string) string {
	v, ok := s.now.sum(name, labels...)
	if !ok {
		return "-"
	}
	return number(v)
}

func (s *metricsScreen) perSec(name string, labels ...string) string {
	v, ok := s.rate(name, labels...)
	if !ok {
		return "-"
	}
	return number(v) + "/s"
}

func (s *metricsScreen) size(name string) string {
	v, ok := s.now.sum(name)
	switch {
	case !ok:
		return "-"
	case v >= 1<<30:
		return fmt.Sprintf("%.1f GB", v/(1<<30))
	case v >= 1<<20:
		return fmt.Sprintf("%.1f MB", v/(1<<20))
	}
	return fmt.Sprintf("%.0f kB", v/1024)
}

// p is a quantile in milliseconds: of late, or since the start when nothing
// happened of late.
func (s *metricsScreen) p(name string, q float64) string {
	v, ok := quantile(s.old, s.now, name, q)
	if !ok {
		v, ok = quantile(nil, s.now, name, q)
	}
	switch {
	case !ok:
		return "-"
	case v >= 1:
		return fmt.Sprintf("%.1f s", v)
	}
	return fmt.Sprintf("%.1f ms", v*1000)
}

func number(v float64) string {
	if v == float64(int64(v)) || v >= 100 {
		s := fmt.Sprint(int64(v))
		for i := len(s) - 3; i > 0; i -= 3 {
			s = s[:i] + "," + s[i:]
		}
		return s
	}
	return fmt.Sprintf("%.1f", v)
}

func (s *metricsScreen) share(name, label string) string {
	all, _ := s.now.sum(name)
	v, ok := s.now.sum(name, label)
	if all == 0 || !ok {
		return "-"
	}
	return fmt.Sprintf("%.0f%%", 100*v/all)
}

// fact is a name and a value.
type fact [2]string

func (s *metricsScreen) sections(m *Model) []struct {
	title string
	facts []fact
} {
	st := func(x string) string { return `status="` + x + `"` }
	dec := func(x string) string { return `decision="` + x + `"` }
	return []struct {
		title string
		facts []fact
	}{
		{"executions", []fact{
			{"pending", s.gauge("kernelctl_executions", st("pending"))},
			{"running", s.gauge("kernelctl_executions", st("running"))},
			{"blocked", s.gauge("kernelctl_executions", st("blocked"))},
			{"completed", s.gauge("kernelctl_executions", st("completed"))},
			{"failed", s.gauge("kernelctl_executions", st("failed"))},
			{"cancelled", s.gauge("kernelctl_executions", st("cancelled"))},
			{"created", s.perSec("kernelctl_executions_created_total")},
			{"oldest running", m.oldestRunning()},
		}},
		{"steps", []fact{
			{"new", s.perSec("kernelctl_steps_total")},
			{"allowed", s.share("kernelctl_steps_total", dec("allowed"))},
			{"denied", s.share("kernelctl_steps_total", dec("denied"))},
			{"approval", s.share("kernelctl_steps_total", dec("awaiting_approval"))},
			{"rate limited", s.share("kernelctl_steps_total", dec("rate_limited"))},
			{"replays", s.perSec("kernelctl_replay_hits_total")},
			{"tokens in", s.gauge("kernelctl_llm_tokens_total", `direction="input"`)},
			{"tokens out", s.gauge("kernelctl_llm_tokens_total", `direction="output"`)},
			{"indeterminate", s.gauge("kernelctl_step_outcomes_total", `outcome="indeterminate"`)},
			{"ruling p99", s.p("kernelctl_policy_evaluation_seconds", .99)},
		}},
		{"approvals", []fact{
			{"pending", s.gauge("kernelctl_approvals_pending")},
			{"oldest", m.oldestPending()},
			{"granted", s.gauge("kernelctl_approvals_decided_total", `verdict="granted"`)},
			{"denied", s.gauge("kernelctl_approvals_decided_total", `verdict="denied"`)},
			{"expired", s.gauge("kernelctl_approvals_decided_total", `verdict="expired"`)},
			{"wait p50", s.p("kernelctl_approval_wait_seconds", .5)},
		}},
		{"dispatch", []fact{
			{"queued", s.gauge("kernelctl_dispatch_queue_depth")},
			{"acked", s.perSec("kernelctl_dispatch_attempts_total", `outcome="acked"`)},
			{"failed", s.perSec("kernelctl_dispatch_attempts_total", `outcome="failed"`)},
			{"exhausted", s.gauge("kernelctl_dispatch_attempts_total", `outcome="exhausted"`)},
			{"lapsed", s.gauge("kernelctl_lease_lapses_total")},
			{"wait p50", s.p("kernelctl_dispatch_queue_wait_seconds", .5)},
		}},
		{"service", []fact{
			{"requests", s.perSec("kernelctl_http_requests_total")},
			{"errors", s.perSec("kernelctl_http_requests_total", `status="5`)},
			{"commit p99", s.p("kernelctl_store_commit_seconds", .99)},
			{"writer queue", s.gauge("kernelctl_store_queue_length")},
			{"database", s.size("kernelctl_db_bytes")},
			{"wal", s.size("kernelctl_wal_bytes")},
			{"streams", s.gauge("kernelctl_stream_subscribers")},
			{"lost deltas", s.gauge("kernelctl_stream_deltas_dropped_total")},
			{"memory", s.size("process_resident_memory_bytes")},
		}},
	}
}

func (m *Model) oldestRunning() string {
	var t time.Time
	for _, e := range m.st.executions {
		if e.Status == wire.ExecutionRunning && (t.IsZero() || e.CreatedAt.Before(t)) {
			t = e.CreatedAt.Time
		}
	}
	if t.IsZero() {
		return "-"
	}
	return ago(m.serverNow().Sub(t))
}

func (m *Model) oldestPending() string {
	var t time.Time
	for _, a := range m.st.approvals {
		if a.pending() && (t.IsZero() || a.CreatedAt.Before(t)) {
			t = a.CreatedAt.Time
		}
	}
	if t.IsZero() {
		return "-"
	}
	return ago(m.serverNow().Sub(t))
}

func (s *metricsScreen) draw(m *Model, w, h int) []string {
	if s.now == nil {
		switch {
		case s.problem != "":
			return center(w, s.problem)
		case !m.conn.online():
			return center(w, "Nothing was heard of the server yet.")
		}
		return center(w, "Asking …")
	}
	var out []string
	secs := s.sections(m)
	roomy := h >= 24
	for _, sec := range secs {
		if roomy {
			out = append(out, ruleLine(&m.th, sec.title, "", w))
		}
		out = append(out, s.facts(m, sec.title, sec.facts, w, roomy, h < 17)...)
	}
	past := make([]float64, len(s.perSecond))
	for i, n := range s.perSecond {
		past[i] = float64(n)
	}
	lines := []string{spark(m, "events/s", past, w), spark(m, "steps/s", s.stepsPast, w)}
	if room := h - len(lines); len(out) > room {
		out = out[:max(room, 0)]
	}
	return append(out, lines...)
}

// facts lays values out in columns.
func (s *metricsScreen) facts(m *Model, title string, facts []fact, w int, roomy, tight bool) []string {
	lead := ""
	if !roomy {
		lead = text.Fit(title, 11)
	}
	cell := 19
	per := max((w-len(lead)-1)/(cell+1), 1)
	var out []string
	for i := 0; i < len(facts); i += per {
		line := " " + m.th.paint(tokBold, lead)
		if i > 0 {
			line = " " + strings.Repeat(" ", len(lead))
		}
		for _, f := range facts[i:min(i+per, len(facts))] {
			tok := tokPlain
			if f[1] != "0" && f[1] != "-" && f[1] != "0/s" && slices.Contains([]string{"failed", "exhausted", "errors", "lapsed", "indeterminate", "expired"}, f[0]) {
				tok = tokWarn
			}
			line += m.th.paint(tokDim, f[0]) + " " + m.th.paint(tok, text.Fit(f[1], max(cell-text.Width(f[0])-1, 1))) + " "
		}
		out = append(out, text.Cut(line, w))
		if tight && len(out) == 2 {
			break
		}
	}
	return out
}

// spark draws numbers as one line of characters of growing weight.
func spark(m *Model, name string, past []float64, w int) string {
	const ramp = " _.-=+*#"
	room := max(w-30, 10)
	if len(past) > room {
		past = past[len(past)-room:]
	}
	top, last := 0.0, 0.0
	for _, v := range past {
		top, last = max(top, v), v
	}
	var b strings.Builder
	for _, v := range past {
		i := 0
		if top > 0 {
			i = int(v / top * float64(len(ramp)-1))
			if v > 0 {
				i = max(i, 1)
			}
		}
		b.WriteByte(ramp[i])
	}
	return " " + text.Fit(name, 10) + m.th.paint(tokInfo, text.Fit(b.String(), room)) + fmt.Sprintf(" %s (top %s)", number(last), number(top))
}
