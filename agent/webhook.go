package agent

import (
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxWebhook bounds the body of a webhook, in bytes. The kernel's has four
// short members.
const maxWebhook = 64 << 10

// leaseIfAbsent is the shortest lease there is: a kernel that does not say how
// long its lease lasts gets its heartbeats often enough.
const leaseIfAbsent = 10 * time.Second

// webhook is the body that the kernel posts for every attempt.
type webhook struct {
	ExecutionID  string `json:"execution_id"`
	DispatchID   string `json:"dispatch_id"`
	Attempt      int64  `json:"dispatch_attempt"`
	LeaseSeconds int64  `json:"lease_timeout_seconds"`
}

// delivery is the triple that a webhook handler is idempotent on.
type delivery struct {
	execution string
	dispatch  string
	attempt   int64
}

func (w webhook) delivery() delivery {
	return delivery{execution: w.ExecutionID, dispatch: w.DispatchID, attempt: w.Attempt}
}

func (w webhook) lease() time.Duration {
	const longest = int64(365 * 24 * time.Hour / time.Second)
	if w.LeaseSeconds <= 0 {
		return leaseIfAbsent
	}
	return time.Duration(min(w.LeaseSeconds, longest)) * time.Second
}

// Handler returns the webhook endpoint of the agent: what the kernel is given
// as webhook_url. fn runs once for every (execution, dispatch, attempt), in a
// goroutine of its own, with the webhook already acknowledged.
//
// The answers are 200 for a webhook that was accepted or came before, 400 for a
// signed body that is no webhook, 401 for a missing or wrong Service-Signature,
// 405 for a method other than POST, 413 for a body above 64 KiB, and 503 when
// the agent shuts down or its queue is full, upon which the kernel delivers
// again later. Handler panics when fn is nil.
func (a *Agent) Handler(fn Func) http.Handler {
	if fn == nil {
		panic("agent: Handler was given a nil function")
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hook, status, err := a.read(w, r)
		if err != nil {
			a.log.Warn("webhook refused", "status", status, "error", err)
			http.Error(w, err.Error(), status)
			return
		}
		// The run outlives the request: it keeps the request's values, say a
		// trace, but not its end.
		if err := a.accept(context.WithoutCancel(r.Context()), hook, fn); err != nil {
			a.log.Warn("webhook put off", "execution_id", hook.ExecutionID, "error", err)
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusOK)
	})
}

// read returns the webhook of a request, or the status that refuses it.
func (a *Agent) read(w http.ResponseWriter, r *http.Request) (webhook, int, error) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return webhook{}, http.StatusMethodNotAllowed, errors.New("a webhook is a POST")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxWebhook))
	if err != nil {
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			return webhook{}, http.StatusRequestEntityTooLarge, fmt.Errorf("a webhook has at most %d bytes", maxWebhook)
		}
		return webhook{}, http.StatusBadRequest, errors.New("the body could not be read")
	}
	// The signature comes before any look into the body.
	want := a.client.sign(body)
	if !hmac.Equal([]byte(r.Header.Get(headerSignature)), []byte(want)) {
		return webhook{}, http.StatusUnauthorized, fmt.Errorf("%s is missing or wrong", headerSignature)
	}
	hook, err := parseWebhook(body)
	if err != nil {
		return webhook{}, http.StatusBadRequest, err
	}
	return hook, http.StatusOK, nil
}

func parseWebhook(body []byte) (webhook, error) {
	var hook webhook
	if err := json.Unmarshal(body, &hook); err != nil {
		return webhook{}, fmt.Errorf("decode webhook: %w", err)
	}
	switch {
	case !validID(hook.ExecutionID):
		return webhook{}, errors.New("execution_id is missing or no id")
	case !validID(hook.DispatchID):
		return webhook{}, errors.New("dispatch_id is missing or no id")
	case hook.Attempt < 1:
		return webhook{}, errors.New("dispatch_attempt is not positive")
	}
	return hook, nil
}

// validID takes whatever can stand in a header and a path: the kernel's UUIDs,
// and the ids of any other kernel that speaks the same protocol.
func validID(s string) bool {
	if s == "" || len(s) > 256 || s == "." || s == ".." {
		return false
	}
	for _, c := range []byte(s) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return true
}
