package bench

// Change is how a figure moved between two runs.
type Change struct {
	Figure    Figure
	Old       *float64 // nil: the old run did not have it
	Factor    float64  // new over old; 1 when it cannot be said
	Regressed bool
}

// Compare says how each figure of now stands to that of before. One that is
// worse by more than the tolerance (0.1 is a tenth) has regressed.
func Compare(before, now *Report, tolerance float64) []Change {
	changes := make([]Change, 0, len(now.Figures))
	for _, f := range now.Figures {
		c := Change{Figure: f, Factor: 1}
		if old := before.Find(f.Key()); old != nil && old.Unit == f.Unit {
			c.Old = &old.Value
			if old.Value != 0 {
				c.Factor = f.Value / old.Value
			}
			switch f.Better {
			case Higher:
				c.Regressed = f.Value < old.Value*(1-tolerance)
			case Lower:
				c.Regressed = f.Value > old.Value*(1+tolerance)
			case Told:
			}
		}
		changes = append(changes, c)
	}
	return changes
}
