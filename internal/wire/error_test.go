package wire_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentkernel/kernelctl/internal/wire"
)

func TestErrorCodeStatus(t *testing.T) {
	t.Parallel()
	want := map[wire.ErrorCode]int{
		"validation_error": 400, "unauthorized": 401, "forbidden": 403, "not_found": 404, "method_not_allowed": 405,
		"conflict": 409, "lease_superseded": 409, "execution_terminal": 409, "payload_too_large": 413,
		"unsupported_media_type": 415, "too_many_requests": 429, "internal_error": 500, "unavailable": 503,
	}
	got := map[wire.ErrorCode]int{}
	for _, c := range wire.ErrorCodes() {
		got[c] = c.Status()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if got := wire.ErrorCode("of another version").Status(); got != 500 {
		t.Errorf("status of an unknown code = %d, want 500", got)
	}
}
