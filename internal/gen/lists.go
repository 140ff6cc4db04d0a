package main

import (
	"reflect"
	"strings"

	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
	"github.com/plumb-eval/plumb/internal/submit"
)

// agentSections returns what is generated from [agent.All].
func agentSections() []section {
	return []section{
		{"schema/plumb.config.schema.json", "agents", fixed(func() string {
			return "      \"enum\": [" + quoted(agent.Types(), ", ") + "],\n"
		})},
		{"internal/suite/plumb.d.ts", "agents", fixed(func() string {
			return "\texport type AgentType = " + quoted(agent.Types(), " | ") + ";\n"
		})},
		{"docs/agents.md", "agents", table(agentTable())},
	}
}

func agentTable() [][]string {
	rows := [][]string{{"`type`", "program", "install", "log in with", "or set"}}
	for _, s := range agent.All() {
		rows = append(rows, []string{
			"`" + s.Name + "`", codes(s.Programs...), installation(s.Install), "`" + s.Login + "`", s.KeyHelp,
		})
	}
	return rows
}

// installation formats a command as code, and leaves a sentence as it is.
func installation(how string) string {
	if strings.HasPrefix(how, "see ") {
		return how
	}
	return "`" + how + "`"
}

// providerSections returns what is generated from [modelapi.Providers].
func providerSections() []section {
	return []section{{"docs/providers.md", "providers", table(providerTable())}}
}

func providerTable() [][]string {
	rows := [][]string{{
		"name", "other names", "key: the first variable that is set", "address", "variable that replaces the address",
	}}
	for _, p := range modelapi.Providers() {
		keys := codes(p.KeyEnv...)
		if p.KeyURL == "" {
			keys = "optional: " + keys
		}
		rows = append(rows, []string{
			"`" + p.Name + "`", codes(p.OtherNames...), keys, codes(p.BaseURL), codes(p.BaseURLEnv),
		})
	}
	return rows
}

// codes formats the words that are not empty as code, with commas.
func codes(words ...string) string {
	var all []string
	for _, w := range words {
		if w != "" {
			all = append(all, "`"+w+"`")
		}
	}
	return strings.Join(all, ", ")
}

// shareSections returns what is generated from [submit.Lists].
func shareSections() []section {
	return []section{{"docs/submitting.md", "fields", table(shareTable())}}
}

func shareTable() [][]string {
	rows := [][]string{{"in a", "at `scores`", "also at `answers`"}}
	for _, f := range submit.Lists() {
		rows = append(rows, []string{f.Type.Name(), members(f.Type, f.Scores), members(f.Type, f.Answers)})
	}
	return rows
}

// members returns the names in JSON of the fields on a list.
func members(t reflect.Type, list string) string {
	var names []string
	for name := range strings.FieldsSeq(list) {
		if f, ok := t.FieldByName(strings.TrimRight(name, "~#")); ok {
			key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			names = append(names, "`"+key+"`"+name[len(f.Name):])
		}
	}
	return strings.NewReplacer("~", "¹", "#", "²").Replace(strings.Join(names, ", "))
}
