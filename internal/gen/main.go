// Command gen writes what is derived from one description into the files that repeat it: JSON
// Schemas, types for TypeScript and tables of the manual.
// `go generate ./...` runs it, and a test fails when a file is stale.
//
// A generated section lies between a line with "BEGIN <name>" and a line with "END <name>". To
// generate from another list, add its sections to [sections].
package main

//go:generate go run .

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// section is a generated part of a file. text gets the whole file and returns complete lines.
type section struct {
	file, name string
	text       func(file string) (string, error)
}

// fixed makes the text of a section that does not depend on the rest of the file.
func fixed(text func() string) func(string) (string, error) {
	return func(string) (string, error) { return text(), nil }
}

// sections returns all generated sections.
func sections() []section {
	return slices.Concat(assertionSections(), settingSections(), agentSections(), providerSections(), shareSections())
}

func main() {
	if err := write("../.."); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err) //nolint:forbidigo // a program of its own
		os.Exit(1)                           //nolint:forbidigo // a program of its own
	}
}

// write brings all files below root up to date.
func write(root string) error {
	for _, file := range files() {
		name := filepath.Join(root, filepath.FromSlash(file))
		old, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		text, err := generate(file, string(old))
		if err != nil {
			return err
		}
		if text == string(old) {
			continue
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// files returns the files with generated sections, each once.
func files() []string {
	var names []string
	for _, s := range sections() {
		if !slices.Contains(names, s.file) {
			names = append(names, s.file)
		}
	}
	return names
}

// generate returns a file with its sections up to date.
func generate(file, text string) (string, error) {
	for _, s := range sections() {
		if s.file != file {
			continue
		}
		inner, err := s.text(text)
		if err != nil {
			return "", fmt.Errorf("%s: %s: %w", file, s.name, err)
		}
		if text, err = replace(text, s.name, inner); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
	}
	return text, nil
}

// replace replaces the lines of a section.
func replace(text, name, inner string) (string, error) {
	_, after, ok := cutLine(text, "BEGIN "+name)
	begin := len(text) - len(after)
	rest, _, found := cutLine(after, "END "+name)
	if !ok || !found {
		return "", errors.New("it needs a line with BEGIN " + name + ", and a line with END " + name + " after it")
	}
	return text[:begin] + inner + after[len(rest):], nil
}

// cutLine cuts text before and after the first line that has mark, followed by a colon, a quote or
// a space.
func cutLine(text, mark string) (before, after string, found bool) {
	at := 0
	for line := range strings.Lines(text) {
		if _, rest, ok := strings.Cut(line, mark); ok && strings.ContainsAny(rest[:1], ":\" \n") {
			return text[:at], text[at+len(line):], true
		}
		at += len(line)
	}
	return text, "", false
}
