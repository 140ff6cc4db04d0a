package agentscript

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/wire"
)

// conversation is the request of an agent.
type conversation struct{ wire.Request }

// scene returns the scene to play and the number of tool results in it. The scene is -1 if no
// prompt of the script occurs.
func (q *conversation) scene(s *Script) (scene, results int) {
	scene = slices.IndexFunc(s.Scenes, func(sc Scene) bool { return sc.Prompt == "" })
	for _, m := range q.Messages {
		if m.Role == wire.RoleTool {
			results++
		}
		if m.Role != plumb.RoleUser {
			continue
		}
		// If several prompts match, the longest wins.
		best := -1
		for i, sc := range s.Scenes {
			if sc.Prompt != "" && strings.Contains(m.Content, sc.Prompt) &&
				(best < 0 || len(sc.Prompt) > len(s.Scenes[best].Prompt)) {
				best = i
			}
		}
		if best >= 0 {
			scene, results = best, 0
		}
	}
	return scene, results
}

// dir returns the working directory that the agent's request names, or "".
func (q *conversation) dir() string {
	// Codex, then most other agents, then Qwen and Gemini.
	m := regexp.MustCompile(`(?i)(?:<cwd>|working (?:in the )?directory: |\*\*Workspace Directories:\*\*\\n {2}- )(/[^"<>\\]+)`).
		FindStringSubmatch(q.Body.Raw)
	if m == nil {
		return ""
	}
	return strings.TrimSpace(m[1])
}

// skillFile returns the path of the skill's file in the request, or "". Codex abbreviates
// directories: "- `r1` = `/path`".
func (q *conversation) skillFile(name string) string {
	before, _, ok := strings.Cut(q.Body.Raw, "/"+name+"/SKILL.md")
	if !ok {
		return ""
	}
	start := strings.LastIndexAny(before, "\"'`<>()\\ \n\t")
	root, below, _ := strings.Cut(before[start+1:]+"/"+name+"/SKILL.md", "/")
	if _, after, ok := strings.Cut(q.Body.Raw, "`"+root+"` = `"); ok && root != "" {
		root, _, _ = strings.Cut(after, "`")
	}
	return root + "/" + below
}

// object is a JSON object.
type object = map[string]any

// encode renders v as JSON as a model writes it. v must be representable in JSON.
func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}
