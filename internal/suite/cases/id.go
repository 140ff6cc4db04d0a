package cases

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

// maxIDLength limits ids, because they become parts of paths.
const maxIDLength = 128

// UnsafeID returns why an id cannot be the name of a directory on every system, or "".
func UnsafeID(id string) string {
	switch {
	case id == "":
		return "is empty"
	case len(id) > maxIDLength:
		return fmt.Sprintf("is longer than %d characters", maxIDLength)
	case strings.Trim(id, idLetters+"._-") != "" || strings.IndexFunc(id, notInID) >= 0:
		return "may contain only letters, digits, dots, hyphens and underscores, because it names files"
	case !strings.ContainsRune(idLetters, rune(id[0])):
		return "must begin with a letter or a digit, because it names files"
	case strings.Contains(id, ".."), strings.HasSuffix(id, "."):
		return "may not contain a double dot or end in a dot, because it names files"
	}
	return takenName(id)
}

// UnsafeCodeID returns why the id of a case in code cannot name a directory, or "". It can have any
// character that is shown: paths have a hyphen for each character that is not safe.
func UnsafeCodeID(id string) string {
	name := PathName(id)
	switch {
	case len(id) > maxIDLength:
		return fmt.Sprintf("is longer than %d characters", maxIDLength)
	case strings.HasSuffix(name, "."):
		return "may not end in a dot, because it names files"
	}
	if why := doc.Unprintable(id); why != "" {
		return why
	}
	return takenName(name)
}

// takenName returns the other meaning of a name in a run's directory or on some system, or "".
func takenName(name string) string {
	name = strings.ToLower(name)
	switch name {
	case "run.json", "bundle", "events.jsonl", "blobs", "results.json", "lock", "report.html", "workspaces":
		return "is a name in the directory of each run"
	}
	stem, _, _ := strings.Cut(name, ".")
	switch {
	case stem == "con", stem == "prn", stem == "aux", stem == "nul",
		len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9':
		return "is a reserved file name on Windows"
	}
	return ""
}

// PathName returns the name of an id in paths; see [plumb.ExecutionDir].
func PathName(id string) string {
	return strings.Map(func(r rune) rune {
		if notInID(r) {
			return '-'
		}
		return r
	}, id)
}

const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func notInID(r rune) bool { return !strings.ContainsRune(idLetters+"._-", r) }

// safeID makes a similar id that can name a directory, if possible.
func safeID(id string) string {
	var b bytes.Buffer
	for _, r := range id {
		switch {
		case !notInID(r):
			b.WriteRune(r)
		case b.Len() > 0 && b.Bytes()[b.Len()-1] != '-':
			b.WriteByte('-')
		}
	}
	safe := b.String()
	for strings.Contains(safe, "..") {
		safe = strings.ReplaceAll(safe, "..", ".")
	}
	safe = strings.Trim(safe, "._-")
	return safe[:min(len(safe), maxIDLength)]
}
