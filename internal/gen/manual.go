package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/check"
)

func table(rows [][]string) func(string) (string, error) {
	return fixed(func() string {
		var b strings.Builder
		b.WriteByte('\n')
		for i, row := range rows {
			b.WriteString("| " + strings.Join(row, " | ") + " |\n")
			if i == 0 {
				b.WriteString(strings.Repeat("|---", len(row)) + "|\n")
			}
		}
		b.WriteByte('\n')
		return b.String()
	})
}

func keyTable(keys []check.Key) [][]string {
	rows := [][]string{{"key", "default", "meaning"}}
	for _, key := range keys {
		usual := key.Default
		if key.Required {
			usual = "required"
		}
		rows = append(rows, []string{"`" + key.Name + "`", usual, keyDoc(key)})
	}
	return rows
}

// keyDoc is the documentation of a key, with the strings that it may have.
func keyDoc(key check.Key) string {
	if len(key.Enum) == 0 {
		return key.Doc
	}
	return key.Doc + ": `" + strings.Join(key.Enum, "`, `") + "`"
}

// seenTable lists the keys of the kinds that look for what an agent did.
func seenTable() [][]string {
	rows := [][]string{{"key", "types", "matches if, or demands that"}}
	index := map[string]int{}
	for _, k := range check.Kinds() {
		if !isSeen(k) {
			continue
		}
		for _, key := range ownKeys(k) {
			at, ok := index[key.Name]
			if !ok {
				at = len(rows)
				index[key.Name] = at
				rows = append(rows, []string{"`" + key.Name + "`", "", keyDoc(key)})
			}
			rows[at][1] = strings.TrimPrefix(rows[at][1]+", `"+k.Name+"`", ", ")
		}
	}
	for _, key := range check.SeenKeys() {
		rows = append(rows, []string{"`" + key.Name + "`", "all", keyDoc(key)})
	}
	return rows
}

func detailsTable() [][]string {
	rows := [][]string{{"type", "on pass", "on fail"}}
	for _, k := range check.Kinds() {
		fail := k.FailDetails
		if fail == "" {
			fail = "the same"
		}
		last := rows[len(rows)-1]
		if last[1] == k.Details && last[2] == fail {
			last[0] += ", `" + k.Name + "`"
			continue
		}
		rows = append(rows, []string{"`" + k.Name + "`", k.Details, fail})
	}
	return rows
}

// kindTable lists the kinds that read one of some parts of a session; with "" all other kinds.
func kindTable(reads ...string) func(string) (string, error) {
	return func(manual string) (string, error) {
		rows := [][]string{{"type", "its keys", "passes if"}}
		for _, k := range check.Kinds() {
			in := slices.Contains(reads, k.Reads)
			if reads[0] == "" {
				in = !slices.Contains([]string{"output", "members", "code", "usage"}, k.Reads)
			}
			if !in {
				continue
			}
			anchor, err := anchorOf(manual, k)
			if err != nil {
				return "", err
			}
			var names []string
			for _, key := range ownKeys(k) {
				names = append(names, "`"+key.Name+"`")
			}
			rows = append(rows, []string{"[`" + k.Name + "`](#" + anchor + ")", strings.Join(names, ", "), k.Doc})
		}
		return table(rows)(manual)
	}
}

// anchorOf returns the anchor of the section of the manual about a kind: its heading names the
// kind, or its first example is there.
func anchorOf(manual string, k check.Kind) (string, error) {
	heading := ""
	for line := range strings.Lines(manual) {
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			heading = strings.TrimSpace(title)
			if regexp.MustCompile(`(^|[ ,])` + k.Name + `($|,)`).MatchString(heading) {
				break
			}
		}
	}
	if !strings.Contains(heading, k.Name) {
		_, after, ok := strings.Cut(manual, "\n{\"type\": "+text(k.Name))
		if !ok {
			return "", fmt.Errorf("%s has no example", k.Name)
		}
		before := manual[:len(manual)-len(after)]
		at := strings.LastIndex(before, "\n#")
		heading, _, _ = strings.Cut(strings.TrimLeft(before[at+1:], "#"), "\n")
		heading = strings.TrimSpace(heading)
	}
	anchor := strings.ReplaceAll(strings.ToLower(heading), ",", "")
	return strings.ReplaceAll(anchor, " ", "-"), nil
}
