package torture

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/agentkernel/kernelctl/internal/client"
	"github.com/agentkernel/kernelctl/internal/wire"
)

const (
	patience = 20 * time.Second // with a service that does not answer
	again    = 20 * time.Millisecond
)

// insist repeats a request until it is answered with something else than "not
// now", or for [patience].
func insist(ctx context.Context, request func() error) error {
	end := time.Now().Add(patience)
	for {
		err := request()
		if err == nil || !notNow(err) || time.Now().After(end) {
			return err
		}
		if err := client.Sleep(ctx, again); err != nil {
			return err
		}
	}
}

// notNow reports whether a request had no answer, or was put off.
func notNow(err error) bool {
	if e := (*client.ConnectionError)(nil); errors.As(err, &e) {
		return true
	}
	return client.StatusOf(err) == http.StatusServiceUnavailable || client.StatusOf(err) == http.StatusTooManyRequests
}

// expected are the refusals that a load like ours meets when all is well.
var expected = map[wire.ErrorCode]bool{
	wire.CodeLeaseSuperseded: true, wire.CodeConflict: true, wire.CodeExecutionTerminal: true,
	wire.CodeNotFound: true, wire.CodeUnavailable: true, wire.CodeTooManyRequests: true,
}

// judge notes an answer that a sound service would not have given.
func (l *ledger) judge(what string, err error) error {
	code := client.CodeOf(err)
	if client.StatusOf(err) == http.StatusServiceUnavailable {
		l.refusal()
	}
	if e := (*client.Error)(nil); errors.As(err, &e) && !expected[code] {
		l.problem("%s was answered: %v", what, err)
	}
	if e := (*client.ProtocolError)(nil); errors.As(err, &e) {
		l.problem("%s was answered: %v", what, err)
	}
	return err
}

// api is a client that repeats nothing by itself: the ledger wants to know.
func api(url, token string, connections int) (*client.Client, error) {
	transport := client.NewTransport()
	transport.Proxy = nil
	transport.MaxIdleConnsPerHost = connections
	return client.New(url, client.Options{Token: token, Tries: 1, RequestTimeout: 10 * time.Second, Transport: transport})
}
