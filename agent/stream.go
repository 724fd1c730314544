package agent

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// stream is the body of a streamed response. It hands bytes on as they come,
// keeps a copy, publishes them, and records the step when they end.
type stream struct {
	effect   *effect
	body     io.ReadCloser
	response *http.Response
	secrets  secrets
	text     *textFilter // nil to publish the raw bytes

	mu   sync.Mutex
	kept []byte
	end  endDetector
	over bool // the outcome is being or has been recorded
}

func (t *transport) newStream(e *effect, resp *http.Response) *stream {
	head := *resp
	s := &stream{effect: e, body: resp.Body, response: &head, secrets: newSecrets(resp.Request)}
	if t.textOnly {
		s.text = &textFilter{}
	}
	return s
}

// context is that of the request, whose values its recording keeps.
func (s *stream) context() context.Context { return s.response.Request.Context() }

// Read implements io.Reader. It returns the last bytes of the stream only after
// the step was recorded, so that nothing can be made of an answer that a later
// run might not get again.
func (s *stream) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	ended, tooLong := s.keep(p[:n])
	switch {
	case tooLong:
		return n, s.fail(ReasonNetworkError, "the response is longer than "+strconv.Itoa(maxRecorded)+" bytes", nil)
	case ended || errors.Is(err, io.EOF):
		if recordErr := s.complete(); recordErr != nil {
			return n, recordErr
		}
	case err != nil:
		return n, s.fail(ReasonNetworkError, s.secrets.scrub(err.Error()), err)
	}
	return n, err
}

// Close implements io.Closer. What the step came to is settled before the body
// is closed: a Read that waits in another goroutine fails then, and must not be
// the one to say why.
func (s *stream) Close() error {
	defer s.effect.end()
	s.mu.Lock()
	ended := s.end.pending()
	s.mu.Unlock()
	var err error
	if ended { // perhaps by a reader that does not wait for the blank line
		err = s.complete()
	} else {
		_ = s.fail(ReasonClosedEarly, "the response was closed before its end", context.Canceled) // who closes early wants nothing more
	}
	return errors.Join(err, s.body.Close())
}

// keep takes note of bytes that came in.
func (s *stream) keep(p []byte) (ended, tooLong bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || len(p) == 0 {
		return false, false
	}
	s.kept = append(s.kept, p...)
	s.end.add(p)
	text := string(p)
	if s.text != nil {
		text = s.text.add(p)
	}
	if text != "" {
		s.effect.publish(s.context(), text)
	}
	return s.end.ended(), len(s.kept) > maxRecorded
}

// claim returns what is to be recorded to whoever records it, and false to all
// others.
func (s *stream) claim() (response, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return response{}, false
	}
	s.over = true
	kept := s.kept
	s.kept = nil
	return newResponse(s.response, kept), true
}

func (s *stream) complete() error {
	rec, mine := s.claim()
	if !mine {
		return nil
	}
	encoded, err := encode(rec)
	if err != nil {
		return err
	}
	_, err = s.effect.complete(s.context(), encoded)
	return err
}

// fail returns what the reader gets for a stream that broke with cause.
func (s *stream) fail(reason, message string, cause error) error {
	rec, mine := s.claim()
	if !mine {
		return cause
	}
	return s.effect.broken(s.context(), rec, message, reason, cause)
}
