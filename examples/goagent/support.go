package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/agentkernel/kernelctl/agent"
)

// supportAgent answers a customer's question with a mail.
type supportAgent struct {
	cfg     config
	network http.RoundTripper // to the model; nil for the usual one
	mailbox io.Writer         // stands for a mail server
}

type question struct {
	Customer string `json:"customer"`
	Question string `json:"question"`
}

type customer struct {
	Name  string `json:"name"`
	Email string `json:"email"`
}

type mail struct {
	To        string `json:"to"`
	Reference string `json:"reference"`
	Text      string `json:"text"`
}

// answer is the agent function. It starts from the top in every run: what an
// earlier run did comes back from the record, so it reads as if nothing had ever
// stopped it.
func (s *supportAgent) answer(ctx context.Context, run *agent.Run) (any, error) {
	var in question
	if err := run.Input(ctx, &in); err != nil {
		return nil, err
	}

	// A tool: asked for, run once, recorded.
	who, err := agent.Tool(ctx, run, "lookup_customer", map[string]string{"id": in.Customer},
		func(context.Context) (customer, error) {
			return customer{Name: in.Customer, Email: in.Customer + "@example.com"}, nil
		})
	if err != nil {
		return nil, err
	}

	// A model: the transport below the HTTP client records the request.
	text, err := s.complete(ctx, run, fmt.Sprintf("Answer %s: %s", who.Name, in.Question))
	if err != nil {
		return nil, err
	}

	// Chance is local to the process; as a step it is the same in every run.
	reference, err := agent.Step(ctx, run, "make_reference",
		func(context.Context) (string, error) { return rand.Text()[:8], nil })
	if err != nil {
		return nil, err
	}

	// policy.yaml gates this one. The run ends here, and once somebody has granted
	// it a new run comes by. A mail must not go twice, even if that means that
	// after a crash nobody knows whether it went.
	letter := mail{To: who.Email, Reference: reference, Text: text}
	_, err = agent.Tool(ctx, run, "send_email", letter, func(context.Context) (bool, error) {
		_, err := fmt.Fprintf(s.mailbox, "MAIL to %s [%s]: %s\n", letter.To, letter.Reference, letter.Text)
		return true, err
	}, agent.AtMostOnce())
	var denied *agent.DeniedError
	if errors.As(err, &denied) {
		// The refusal is recorded, so every later run goes this way, too.
		return map[string]string{"reference": reference, "not_sent": denied.Reason}, nil
	}
	if err != nil {
		return nil, err
	}
	return letter, nil
}
