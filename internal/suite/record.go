package suite

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/doc"
)

// recordName is the file beside the manifest in which [Lock] records the hash of each case. The
// manifest decides whether a tier has changed; the record only tells which case did.
const recordName = "manifest.cases"

// recordedCase is a case of a tier. Its hash is the suite hash of the line alone, so it covers all of
// its keys. line is 0 in a record.
type recordedCase struct {
	file, id, hash string
	line           int
}

// recordedCases returns the cases of a suite file. It leaves out lines that have no id or no hash.
func recordedCases(file string, data []byte) (found []recordedCase) {
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data = doc.CutLine(data)
		var c struct {
			ID string `json:"id"`
		}
		if json.Unmarshal(text, &c) != nil || c.ID == "" {
			continue
		}
		if hash, err := digest.Suite(text); err == nil {
			found = append(found, recordedCase{file, c.ID, hash, line})
		}
	}
	return found
}

// formatRecord returns the content of the record.
func formatRecord(cases []recordedCase) []byte {
	var text strings.Builder
	text.WriteString("# plumb suite lock wrote this file. If a tier changes, it tells which case did.\n")
	for _, c := range cases {
		fmt.Fprintf(&text, "%s\t%s\t%s\n", c.hash, c.file, c.id)
	}
	return []byte(text.String())
}

// record returns the record of a tier by case id; nil if the version has none.
func (v versionDir) record(t Tier) map[string]string {
	data, err := doc.ReadFS(v.fsys, path.Join(v.dir, recordName), doc.SuiteBytes)
	if err != nil {
		return nil
	}
	var recorded map[string]string
	for line := range strings.Lines(string(data)) {
		fields := strings.SplitN(strings.TrimRight(line, "\r\n"), "\t", 3)
		if len(fields) != 3 || fields[1] != t.File {
			continue
		}
		if recorded == nil {
			recorded = map[string]string{}
		}
		recorded[fields[2]] = fields[0]
	}
	return recorded
}

// caseChange is a case of a tier that differs from the record. line is 0 if the case is missing.
type caseChange struct {
	id, what string
	line     int
}

// changes compares the content of a tier with its record. Without a record it finds nothing.
func (v versionDir) changes(t Tier, data []byte) (found []caseChange) {
	recorded := v.record(t)
	if recorded == nil {
		return nil
	}
	for _, c := range recordedCases(t.File, data) {
		switch hash, ok := recorded[c.id]; {
		case !ok:
			found = append(found, caseChange{c.id, "was added", c.line})
		case hash != c.hash:
			found = append(found, caseChange{c.id, "has changed", c.line})
		}
		delete(recorded, c.id)
	}
	for id := range recorded {
		found = append(found, caseChange{id, "is missing", 0})
	}
	slices.SortFunc(found, func(a, b caseChange) int {
		if a.line != b.line {
			return a.line - b.line
		}
		return strings.Compare(a.id, b.id)
	})
	return found
}

// changed says which cases of a tier differ from the record, as the end of a sentence.
func (v versionDir) changed(t Tier, data []byte) string {
	const most = 5
	found := v.changes(t, data)
	var text strings.Builder
	for i, c := range found {
		if i == most {
			fmt.Fprintf(&text, "; and %d more", len(found)-most)
			break
		}
		fmt.Fprintf(&text, "; case %s %s", c.id, c.what)
	}
	return text.String()
}
