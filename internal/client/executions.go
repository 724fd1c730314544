package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// CreateExecution creates an execution. With a key, a repeat of the same
// request gives the same execution, so that a lost answer is asked for again;
// created is false when the key had been used before. Without one it is sent
// once.
func (c *Client) CreateExecution(ctx context.Context, req wire.CreateExecution, key string) (x wire.Execution, created bool, err error) {
	res, err := c.do(ctx, call{
		method: http.MethodPost, path: "/v0/executions",
		header: idempotencyKey(key), body: req, out: &x, safe: key != "",
	})
	return x, res.status == http.StatusCreated, err
}

// GetExecution reads one execution.
func (c *Client) GetExecution(ctx context.Context, id string) (x wire.Execution, err error) {
	err = c.get(ctx, route("/v0/executions/%s", id), nil, &x)
	return x, err
}

// ExecutionFilter says which executions to list. The zero value means all.
type ExecutionFilter struct {
	AgentID string
	Status  wire.ExecutionStatus
	Labels  map[string]string // all must match
	Cursor  string            // where the last page ended
	Limit   int               // of one page; zero: the service's default
}

func (f ExecutionFilter) query() url.Values {
	q := url.Values{}
	setText(q, "agent_id", f.AgentID)
	setText(q, "status", string(f.Status))
	setText(q, "cursor", f.Cursor)
	setNumber(q, "limit", int64(f.Limit))
	for k, v := range f.Labels {
		q.Add("label", k+":"+v)
	}
	return q
}

// ListExecutions reads one page of executions, newest first.
func (c *Client) ListExecutions(ctx context.Context, f ExecutionFilter) (page wire.ExecutionList, err error) {
	err = c.get(ctx, "/v0/executions", f.query(), &page)
	return page, err
}

// Executions walks all pages of a list from the filter's cursor on. A page is
// held in memory at a time. After an error it stops.
func (c *Client) Executions(ctx context.Context, f ExecutionFilter) iter.Seq2[wire.Execution, error] {
	return func(yield func(wire.Execution, error) bool) {
		for {
			page, err := c.ListExecutions(ctx, f)
			if err != nil {
				yield(wire.Execution{}, err)
				return
			}
			for _, x := range page.Executions {
				if !yield(x, nil) {
					return
				}
			}
			if page.NextCursor == "" {
				return
			}
			f.Cursor = page.NextCursor
		}
	}
}

// CancelExecution cancels an execution.
func (c *Client) CancelExecution(ctx context.Context, id string) error {
	_, err := c.do(ctx, call{method: http.MethodPost, path: route("/v0/executions/%s/cancel", id)})
	return err
}

func idempotencyKey(key string) http.Header {
	if key == "" {
		return nil
	}
	return http.Header{wire.HeaderIdempotencyKey: {key}}
}

func setText(q url.Values, name, value string) {
	if value != "" {
		q.Set(name, value)
	}
}

func setNumber(q url.Values, name string, value int64) {
	if value != 0 {
		q.Set(name, strconv.FormatInt(value, 10))
	}
}
