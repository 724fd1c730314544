package torture

import (
	"time"

	"github.com/agentkernel/kernelctl/internal/wire"
)

// Judge is what an audit says of an execution that was acknowledged so, and
// is shown so.
type Judge struct{ facts *facts }

// Acknowledged is the judge of an execution with one step, whose effect began in
// one attempt and came to a result, and which completed.
func Acknowledged(input, step, args, result, output string) Judge {
	f := &facts{
		id: "x", input: digestOf([]byte(input)), steps: make(map[string]*stepFacts),
		approvals: map[string]verdict{}, signals: map[string]bool{},
	}
	s := f.step(step)
	s.args, s.mode, s.allowed = digestOf([]byte(args)), wire.AtMostOnce, true
	s.outcome = &outcome{wire.StepSucceeded, digestOf([]byte(result))}
	end := completed([]byte(output))
	f.end = &end
	return Judge{f}
}

// Shown is what is wrong with what the service shows.
func (j Judge) Shown(x wire.Execution, steps []wire.Step, events []wire.Event) []string {
	return j.facts.check(&shown{execution: x, steps: steps, events: events})
}

// MayBeGone is whether retention may have removed an execution that was alive
// so long before the end of a server's life, which lasted so long.
func MayBeGone(alive, lasted, retention time.Duration) bool {
	end := time.Unix(1000, 0)
	return mayBeGone(end.Add(-alive), []life{{from: end.Add(-lasted), to: end, retention: retention}}, end.Add(time.Hour))
}

// Flat judges values like the named thing of a soak.
func Flat(name string, values []float64) Trend {
	for i := range bounds {
		if bounds[i].name == name {
			return bounds[i].trend(values)
		}
	}
	return Trend{}
}
