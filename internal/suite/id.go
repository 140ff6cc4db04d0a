package suite

import (
	"bytes"
	"fmt"
	"strings"
)

// maxIDLength bounds ids so that paths made of them stay within what file systems allow.
const maxIDLength = 128

// unsafeID says why an id cannot be the name of a directory on every system, or "".
func unsafeID(id string) string {
	switch {
	case id == "":
		return "is empty"
	case len(id) > maxIDLength:
		return fmt.Sprintf("is longer than %d characters", maxIDLength)
	case strings.Trim(id, idLetters+"._-") != "" || strings.IndexFunc(id, notInID) >= 0:
		return "may hold only letters, digits, dots, hyphens and underscores, because it names files"
	case !strings.ContainsRune(idLetters, rune(id[0])):
		return "must begin with a letter or a digit, because it names files"
	case strings.Contains(id, ".."), strings.HasSuffix(id, "."):
		return "may hold no double dot and no dot at the end, because it names files"
	}
	return takenName(id)
}

// unsafeCodeID says why the id of a case in code cannot name a directory, or "". Its characters are
// free, as they always were in code: paths have a hyphen for each that is not safe there.
func unsafeCodeID(id string) string {
	name := pathName(id)
	switch {
	case len(id) > maxIDLength:
		return fmt.Sprintf("is longer than %d characters", maxIDLength)
	case strings.HasSuffix(name, "."):
		return "may have no dot at the end, because it names files"
	}
	return takenName(name)
}

// takenName says for what else a name stands in a run's directory, or on some system.
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

// pathName is what an id becomes in paths; see [plumb.ExecutionDir].
func pathName(id string) string {
	return strings.Map(func(r rune) rune {
		if notInID(r) {
			return '-'
		}
		return r
	}, id)
}

const idLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

func notInID(r rune) bool { return !strings.ContainsRune(idLetters+"._-", r) }

// safeID turns an id into one that can name a directory, as well as it can.
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
	safe := strings.Trim(strings.ReplaceAll(b.String(), "..", "."), "._-")
	return safe[:min(len(safe), maxIDLength)]
}
