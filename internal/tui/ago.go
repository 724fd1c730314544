package tui

import (
	"fmt"
	"time"

	"github.com/agentkernel/kernelctl/internal/tui/text"
	"github.com/agentkernel/kernelctl/internal/wire"
)

// ago is an age in one unit: seconds only below a minute, so that a list of old
// things stays as it is from frame to frame.
func ago(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// left is the time until a deadline; seconds only below ten minutes.
func left(d time.Duration) string {
	switch {
	case d <= 0:
		return "0m00s"
	case d < 10*time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

// took is a duration between two events.
func took(d time.Duration) string {
	switch {
	case d < 0:
		return "0.0s"
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return ago(d)
}

// short is how a screen calls an id: its last eight characters, for the first
// ones of ids of the same minute are equal.
func short(id string) string {
	if len(id) > 8 {
		id = id[len(id)-8:]
	}
	return text.Clean(id)
}

func clock(t wire.Time) string { return t.Local().Format("15:04:05") }

// plural is a number of things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
