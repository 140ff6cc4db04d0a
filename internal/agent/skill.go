package agent

import (
	"bytes"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb/internal/doc"
)

var frontName = regexp.MustCompile(`(?m)^name:[ \t]*["']?([A-Za-z0-9][A-Za-z0-9_-]*)["']?[ \t\r]*$`)

// SkillName returns the name of the skill in a directory: the one at the top of its SKILL.md, or else
// that of the directory. Agents expect a skill in a directory of its name, so Plumb offers it there.
func SkillName(dir string) string {
	data, err := doc.Read(filepath.Join(dir, "SKILL.md"), doc.DataBytes)
	if err == nil && bytes.HasPrefix(data, []byte("---")) {
		front, _, _ := bytes.Cut(data[3:], []byte("\n---"))
		if m := frontName.FindSubmatch(front); m != nil {
			return string(m[1])
		}
	}
	return filepath.Base(dir)
}

// SkillFile reports whether a file of a skill's directory is a part of the skill. Hidden files,
// installed modules and the tests of the skill are not: if SKILL.md is at the top of a project, the
// agent would see the expected answers and earlier runs there. rel is relative to the skill.
func SkillFile(rel string) bool {
	parts := strings.Split(filepath.ToSlash(rel), "/")
	if parts[0] == "evals" && len(parts) > 1 {
		return false
	}
	for _, part := range parts {
		if strings.HasPrefix(part, ".") || part == "node_modules" || part == "__pycache__" {
			return false
		}
	}
	return len(parts) > 1 || !slices.ContainsFunc([]string{
		"plumb.yaml", "plumb.yml", "plumb.config.*", "skillgym.config.*", "promptfooconfig.*", "suite.*", "*.suite.*",
	}, func(pattern string) bool {
		ok, _ := path.Match(pattern, parts[0])
		return ok
	})
}
