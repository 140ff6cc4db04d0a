package load

import (
	"bytes"
	"fmt"
	"strings"
)

// maxIDLength bounds ids so that paths made of them stay within what file systems allow.
const maxIDLength = 128

// unsafeID says why an id cannot be the name of a directory on every system, or "".
func unsafeID(id string) string {
	stem, _, _ := strings.Cut(strings.ToLower(id), ".")
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
	case stem == "con", stem == "prn", stem == "aux", stem == "nul",
		len(stem) == 4 && (stem[:3] == "com" || stem[:3] == "lpt") && stem[3] >= '0' && stem[3] <= '9':
		return "is a reserved file name on Windows"
	}
	return ""
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
