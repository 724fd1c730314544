package daemontest

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Events are all events of an execution so far.
func (s *Service) Events(id string) (events []wire.Event) {
	s.t.Helper()
	s.Admin(http.MethodGet, "/v0/executions/"+id+"/events?limit=1000", "", http.StatusOK, &events)
	return events
}

// Await follows the log of an execution until it has an event of the type, the
// n-th one with n given, and returns everything up to that.
func (s *Service) Await(id string, want wire.EventType, n ...int) []wire.Event {
	s.t.Helper()
	count := 1
	if len(n) > 0 {
		count = n[0]
	}
	events, ok := s.Follow(id, func(events []wire.Event) bool {
		found := 0
		for _, e := range events {
			if e.Type == want {
				found++
			}
		}
		return found >= count
	})
	if !ok {
		s.t.Fatalf("execution %s: no %s (%d) came: %v", id, want, count, Types(events))
	}
	return events
}

// Follow tails the log of an execution until enough says so; false when the
// tail ended or patience did.
func (s *Service) Follow(id string, enough func([]wire.Event) bool) (events []wire.Event, ok bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), Patience)
	defer cancel()
	resp := s.Open(ctx, http.MethodGet, "/v0/executions/"+id+"/events", "", Bearer(s.opts.Token), Header("Accept", wire.ContentTypeEventStream))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		s.t.Fatalf("follow execution %s: status %d", id, resp.StatusCode)
	}
	frames := wire.NewScanner(resp.Body, 0)
	for frames.Scan() {
		var e wire.Event
		if err := json.Unmarshal(frames.Frame().Data, &e); err != nil {
			s.t.Fatalf("follow execution %s: %v", id, err)
		}
		if events = append(events, e); enough(events) {
			return events, true
		}
	}
	return events, false
}

// Types are the types of events.
func Types(events []wire.Event) []wire.EventType {
	types := make([]wire.EventType, 0, len(events))
	for _, e := range events {
		types = append(types, e.Type)
	}
	return types
}
