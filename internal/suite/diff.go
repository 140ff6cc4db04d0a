package suite

import (
	"bytes"
	"maps"
	"slices"

	"github.com/plumb-eval/plumb"
)

// Difference is what differs between two suites, case by case. Cases pair by id; a case that has
// only another id counts as renamed.
type Difference struct {
	Added   []string `json:"added"`
	Removed []string `json:"removed"`
	Changed []Change `json:"changed"`
	Same    int      `json:"same"`
}

// Change is a case that differs. Parts are "id", "prompt", "checks", "labels": its category,
// difficulty, tags and expectations, "limits", and "metadata": the author's own keys and estimates.
type Change struct {
	ID    string   `json:"id"`
	Was   string   `json:"was,omitempty"` // the id before, if it differs
	Parts []string `json:"parts"`
}

// Equal reports whether nothing differs.
func (d *Difference) Equal() bool { return len(d.Added)+len(d.Removed)+len(d.Changed) == 0 }

// Diff compares two suites. Of a check in code it compares nothing.
func Diff(before, after *plumb.Suite) *Difference {
	d := &Difference{Added: []string{}, Removed: []string{}, Changed: []Change{}}
	old := make(map[string]*plumb.Case, len(before.Cases))
	for i := range before.Cases {
		old[before.Cases[i].ID] = &before.Cases[i]
	}
	var added []*plumb.Case
	for i := range after.Cases {
		c := &after.Cases[i]
		was := old[c.ID]
		if was == nil {
			added = append(added, c)
			continue
		}
		delete(old, c.ID)
		if parts := changedParts(was, c); parts != nil {
			d.Changed = append(d.Changed, Change{ID: c.ID, Parts: parts})
		} else {
			d.Same++
		}
	}
	gone := map[string]*plumb.Case{} // by hash
	for _, c := range old {
		if c.Hash != "" && (gone[c.Hash] == nil || c.ID < gone[c.Hash].ID) {
			gone[c.Hash] = c
		}
	}
	for _, c := range added {
		was := gone[c.Hash]
		if was == nil {
			d.Added = append(d.Added, c.ID)
			continue
		}
		delete(gone, c.Hash)
		delete(old, was.ID)
		d.Changed = append(d.Changed, Change{ID: c.ID, Was: was.ID, Parts: append([]string{"id"}, changedParts(was, c)...)})
	}
	for i := range before.Cases {
		if id := before.Cases[i].ID; old[id] != nil {
			d.Removed = append(d.Removed, id)
		}
	}
	return d
}

func changedParts(a, b *plumb.Case) (parts []string) {
	if a.PromptHash != b.PromptHash || a.Hash == "" && a.Prompt() != b.Prompt() {
		parts = append(parts, "prompt")
	}
	if a.ChecksHash != b.ChecksHash {
		parts = append(parts, "checks")
	}
	if a.Category != b.Category || a.Difficulty != b.Difficulty || !slices.Equal(a.Tags, b.Tags) ||
		a.ExpectedFail != b.ExpectedFail || a.Repeat != b.Repeat {
		parts = append(parts, "labels")
	}
	if a.Timeout != b.Timeout || a.MaxSteps != b.MaxSteps {
		parts = append(parts, "limits")
	}
	if !maps.Equal(a.Metadata, b.Metadata) || !bytes.Equal(a.Own, b.Own) || a.TokensEstimate != b.TokensEstimate {
		parts = append(parts, "metadata")
	}
	return parts
}
