package demo

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agentkernel/kernelctl/agent"
	"github.com/agentkernel/kernelctl/internal/client"
)

// The models of the company.
const (
	large = "orion-large"
	mini  = "orion-mini"
)

// desk is where an agent of the company works on one execution. Everything is
// decided by the input and by earlier results, so that each run of an execution
// does the same.
type desk struct {
	*company
	run *agent.Run
	ref string // of the order
}

// use calls a tool, which takes its time and then returns result, or fails with
// it when it is an error.
func (d *desk) use(ctx context.Context, target string, args, result any) error {
	_, err := agent.Tool(ctx, d.run, target, args, func(ctx context.Context) (any, error) {
		took := 250*time.Millisecond + time.Duration(hash(d.ref, target)%1000)*time.Millisecond
		if client.Sleep(ctx, d.soon(took)) != nil {
			return nil, ctx.Err()
		}
		if err, failed := result.(error); failed {
			return nil, err
		}
		return result, nil
	})
	return err
}

// think asks the large model, and the small one when that is overloaded.
func (d *desk) think(ctx context.Context, role, about string) (string, error) {
	about = d.ref + ": " + about
	q := question{Model: large, Messages: []message{{Role: "system", Content: role}, {Role: "user", Content: about}}}
	text, err := ask(ctx, d.run, d.models, q)
	if errors.As(err, new(*refusedError)) {
		q.Model = mini
		text, err = ask(ctx, d.run, d.models, q)
	}
	return text, err
}

// reply is what the models say: it depends on the question alone.
func (c *company) reply(q question) answer {
	role, about := q.Messages[0].Content, q.Messages[len(q.Messages)-1].Content
	h := hash(role, about)
	if q.Model == large && h%8 == 0 {
		return answer{refusal: `{"error": {"type": "overloaded", "message": "try again later"}}`}
	}
	texts := answers[role]
	if len(texts) == 0 {
		texts = answers[roleAnalyst]
	}
	text := texts[h/8%uint64(len(texts))]
	words := len(strings.Fields(text))
	const perWord = 55 * time.Millisecond
	return answer{
		text: text, took: c.soon(time.Duration(words) * perWord),
		in: 900 + int(h%6500), out: words * 4 / 3, //nolint:gosec // below 6,500
	}
}

// denied reports whether policy or a person said no, which some agents take as
// an answer and others as the end.
func denied(err error) bool { return errors.As(err, new(*agent.DeniedError)) }
