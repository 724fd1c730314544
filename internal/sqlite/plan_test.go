package sqlite_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentkernel/kernelctl/internal/sqlite"
)

// walks are the steps of plans that go through everything, or sort what they
// found, and are all right.
var walks = []string{
	"SCAN probe", "SCAN retired", "SCAN a USING INDEX sqlite_autoindex_agents_1", // small
	"SCAN p USING INDEX approvals_timeout", // lists of everything end at their limit
	"SCAN (subquery", "SCAN t",             // what the branches of the timers give, which is limited
	"SCAN CONSTANT ROW",
	"SCAN dispatches USING INDEX dispatches_due",             // the partial index is what is counted
	"SCAN executions USING COVERING INDEX executions_status", // counts, which are asked for rarely
}

var bareLimit = regexp.MustCompile(`LIMIT \?\d*(\D?$|\))`)

// TestPlans holds every statement to an index: none may cost more when the
// history is longer.
func TestPlans(t *testing.T) {
	t.Parallel()
	db := open(t, filepath.Join(t.TempDir(), "kernel.db"), sqlite.Options{})
	for _, text := range db.Texts() {
		first, _, _ := strings.Cut(text, " ")
		switch first {
		case "SELECT", "UPDATE", "DELETE":
		default:
			continue
		}
		steps, err := db.Plan(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if bareLimit.MatchString(text) {
			t.Errorf("%s\nis compiled again whenever the limit is bound: it must not be a parameter alone", text)
		}
		few := strings.Contains(text, "UNION ALL") || strings.Contains(text, "e.id=?") // are sorted
		for _, step := range steps {
			list := step == "SCAN e" && strings.Contains(text, "WHERE 1 ORDER BY e.no DESC LIMIT")
			scan := strings.HasPrefix(step, "SCAN") && !list && !slices.ContainsFunc(walks, func(known string) bool {
				return step == known || strings.HasSuffix(known, "(subquery") && strings.HasPrefix(step, known)
			})
			sorts := strings.Contains(step, "TEMP B-TREE") && !few
			if scan || sorts || strings.Contains(step, "AUTOMATIC") || strings.Contains(step, "executions_agent_status (agent_no=?)") {
				t.Errorf("%s\n%s", text, strings.Join(steps, "\n"))
				break
			}
		}
	}
}
