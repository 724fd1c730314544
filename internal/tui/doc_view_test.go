package tui

import (
	"strings"
	"testing"
)

// TestLiveOutputIsShownWhole: a model writes a paragraph as one line, and none of
// it may stand beyond the edge of its pane.
func TestLiveOutputIsShownWhole(t *testing.T) {
	t.Parallel()
	said := strings.Repeat("all of it counts, ", 40)
	s := &detailScreen{output: []byte(said), heardOut: 1}
	s.out.size(50, 100)
	s.fillOutput()
	var shown strings.Builder
	for _, l := range s.out.draw(&theme{}, 50, false) {
		shown.WriteString(strings.ReplaceAll(l, " ", ""))
	}
	if got, want := shown.String(), strings.ReplaceAll(said, " ", ""); got != want {
		t.Errorf("shown:\n%s\nwant:\n%s", got, want)
	}
}
