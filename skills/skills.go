// Package skills holds short texts that teach coding agents to use Plumb. Each is a skill: a folder
// with a SKILL.md whose front matter has its name and description.
package skills

import (
	"embed"
	"path"
	"strings"
)

//go:embed */SKILL.md
var files embed.FS

// Skill is one text.
type Skill struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Text is the whole SKILL.md.
	Text string `json:"text"`
}

// All returns the skills in the order of their names.
func All() []Skill {
	var all []Skill
	dirs, _ := files.ReadDir(".") // the files are in the program
	for _, d := range dirs {
		text, _ := files.ReadFile(path.Join(d.Name(), "SKILL.md"))
		s := Skill{Name: d.Name(), Text: string(text)}
		for line := range strings.Lines(s.Text) {
			if description, ok := strings.CutPrefix(line, "description: "); ok {
				s.Description = strings.TrimSpace(description)
				break
			}
		}
		all = append(all, s)
	}
	return all
}
