package demo

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/agentkernel/kernelctl/agent"
)

// study is what the research agent works on.
type study struct {
	Ref      string   `json:"ref"`
	Question string   `json:"question"`
	Sources  []string `json:"sources"`
	Chapters []string `json:"chapters"`
	Pages    []string `json:"pages"`
	To       string   `json:"to"`
}

func newStudy(r *rand.Rand) study {
	return study{
		Ref:      number(r, "S"),
		Question: one(r, "How do others bound the cost of agents?", "What do customers expect after an outage?", "Which approvals are never denied?", "How long do people keep audit logs?"),
		Sources:  []string{"web", "papers", "handbook"},
		Chapters: []string{"what is known"},
		Pages: []string{
			one(r, "https://reports.example.org/recovery", "https://news.example.net/pricing"),
			one(r, "https://wiki.example.org/approvals", "https://papers.example.net/audit", "http://10.0.4.17/admin/export", "http://wiki.internal/budget"),
		},
		To: "insights@example.com",
	}
}

func orderStudy(r *rand.Rand) order {
	return order{input: newStudy(r), labels: map[string]string{"team": "insights", "tier": one(r, "batch", "interactive")}}
}

func orderDeepStudy(r *rand.Rand) order {
	s := newStudy(r)
	s.Chapters = []string{"what is known", "who says so", "what it costs", "what we would lose", "what others tried", "who disagrees", "what is missing", "what to do"}
	s.Pages = s.Pages[:1]
	return order{input: s, labels: map[string]string{"team": "strategy", "tier": "batch"}}
}

// orderSurvey is what limits are for: it wants to search everywhere at once.
func orderSurvey(r *rand.Rand) order {
	s := newStudy(r)
	s.Sources = nil
	for i := range 27 {
		s.Sources = append(s.Sources, fmt.Sprintf("archive-%02d", i+1))
	}
	return order{input: s, labels: map[string]string{"team": "strategy", "tier": "batch"}}
}

func orderReport(r *rand.Rand) order {
	s := newStudy(r)
	s.Pages, s.To = s.Pages[:1], someone(r).Email
	return order{input: s, labels: map[string]string{"team": "sales", "tier": "interactive"}}
}

// research searches, reads, thinks chapter by chapter, and sends a report.
func (c *company) research(ctx context.Context, run *agent.Run) (any, error) {
	var in study
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}
	d := &desk{c, run, in.Ref}
	began, err := agent.Step(ctx, run, "note_time", func(context.Context) (time.Time, error) { return time.Now().UTC(), nil })
	if err != nil {
		return nil, err
	}
	if err := d.search(ctx, in); err != nil {
		return nil, err
	}
	read := 0
	for _, page := range in.Pages {
		err := d.use(ctx, "fetch_page", map[string]any{"url": page, "accept": "text/html"}, map[string]any{"status": 200, "bytes": 10_000 + hash(page)%90_000})
		switch {
		case denied(err): // a page that it may not read is one less to read
		case err != nil:
			return nil, err
		default:
			read++
		}
	}
	text := ""
	for _, chapter := range in.Chapters {
		text, err = d.think(ctx, roleAnalyst, in.Question+" Chapter: "+chapter)
		if err != nil {
			return nil, err
		}
	}
	report := map[string]any{"to": in.To, "subject": in.Question, "body": text, "pages_read": read}
	if err := d.use(ctx, "send_report", report, map[string]any{"message_id": "m-" + in.Ref}); err != nil {
		return nil, err
	}
	return map[string]any{"question": in.Question, "chapters": len(in.Chapters), "pages_read": read, "began": began}, nil
}

// search asks all sources at once. The error is that of the first in their order.
func (d *desk) search(ctx context.Context, in study) error {
	errs := make([]error, len(in.Sources))
	var all sync.WaitGroup
	for i, source := range in.Sources {
		all.Go(func() {
			query := map[string]any{"query": in.Question, "source": source, "limit": 5}
			hits := []map[string]any{
				{"title": "On " + in.Question, "score": 0.91, "year": 2025}, {"title": "A dissent", "score": 0.74, "year": 2024},
			}
			errs[i] = d.use(ctx, "search_web", query, hits)
		})
	}
	all.Wait()
	return cmp.Or(errs...)
}
