package compare

// Obstacles returns why the samples of a runner of an earlier run cannot stand for samples of a
// runner of a planned run: what differs in the runs and in the runners, and what the earlier run did
// not record. The planned run has no samples yet, so what providers and agents report is not
// compared.
func Obstacles(earlier, planned *Side, earlierRunner, plannedRunner int) []Difference {
	var c contrast
	c.compare(earlier.Facts, planned.Facts, "", false, false)
	c.runner(&earlier.Runners[earlierRunner], &planned.Runners[plannedRunner], false)
	found := c.differences
	for _, d := range c.unknown {
		if d.Base == unknown {
			found = append(found, d)
		}
	}
	return found
}

// AgentVersion returns the version that the agent of the runner at index r reported, or all of them
// as one text; "" if none is known.
func (s *Side) AgentVersion(r int) string {
	for _, f := range s.Runners[r].Facts {
		if f.Kind == VaryAgentVersion && f.Known {
			return f.Value
		}
	}
	return ""
}

// Known reports whether both sides have recorded the property.
func (d *Difference) Known() bool { return d.Base != unknown && d.Cand != unknown }

// Used reports whether the candidate has the property at all.
func (d *Difference) Used() bool { return d.Cand != none }
