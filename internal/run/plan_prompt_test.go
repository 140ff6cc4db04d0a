package run

import (
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

// Cases are selected by the label of their prompt, and by the id of the item with all prompts.
func TestFilterPrompts(t *testing.T) {
	s := &plumb.Suite{Name: "s", Cases: []plumb.Case{
		{ID: "a.short", Item: "a", PromptName: "short"},
		{ID: "a.long", Item: "a", PromptName: "long"},
		{ID: "b.short", Item: "b", PromptName: "short"},
		{ID: "c"},
	}}
	for _, x := range []struct {
		filter Filter
		want   string
	}{
		{Filter{Prompts: []string{"short"}}, "a.short b.short"},
		{Filter{Prompts: []string{"short", "long"}}, "a.short a.long b.short"},
		{Filter{IDs: []string{"a"}}, "a.short a.long"},
		{Filter{IDs: []string{"a"}, Prompts: []string{"long"}}, "a.long"},
	} {
		cases, err := x.filter.Select(s)
		var ids []string
		for i := range cases {
			ids = append(ids, cases[i].ID)
		}
		if got := strings.Join(ids, " "); err != nil || got != x.want {
			t.Errorf("%+v selects %q, %v; want %q", x.filter, got, err, x.want)
		}
	}
	_, err := Filter{Prompts: []string{"shrot"}}.Select(s)
	if err == nil || !strings.Contains(err.Error(), `has no prompt "shrot"`) || !strings.Contains(plumb.Hint(err), "short") {
		t.Errorf("an unknown prompt: %v (%s)", err, plumb.Hint(err))
	}
}

// A gate has a part of the run, a limit, and a share.
func TestParseGate(t *testing.T) {
	for text, want := range map[string]plumb.Gate{
		"0.9":                     {Least: 0.9},
		" 90% ":                   {Least: 0.9},
		"low:0.85":                {Least: 0.85, Low: true},
		"openai:gpt-5=0.9":        {Least: 0.9, Kind: plumb.GateRunner, Name: "openai:gpt-5"},
		"a=b=low:50%":             {Least: 0.5, Low: true, Kind: plumb.GateRunner, Name: "a=b"},
		"tag:billing=0.8":         {Least: 0.8, Kind: plumb.GateTag, Name: "billing"},
		"prompt:long=1":           {Least: 1, Kind: plumb.GatePrompt, Name: "long"},
		"category:a:b = low:0.25": {Least: 0.25, Low: true, Kind: plumb.GateCategory, Name: "a:b"},
	} {
		want.Metric, want.Text = plumb.GatePassRate, strings.TrimSpace(text)
		if got, err := ParseGate(plumb.GatePassRate, text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "1.5", "-0.1", "=0.9", "tag:=0.9", "90", "NaN", "low:", "low:low:0.5", "0.9="} {
		if g, err := ParseGate(plumb.GatePassRate, text); err == nil || plumb.Hint(err) == "" {
			t.Errorf("%q is %+v, want an error with a hint", text, g)
		}
	}
	if _, err := ParseGate(plumb.GateCoverage, "low:0.9"); err == nil {
		t.Error("the coverage has a lower limit")
	}
}

func FuzzParseGate(f *testing.F) {
	for _, text := range []string{"0.9", "tag:a=low:90%", "a=b=0.1", "low:", "=", "%", "1e-400"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		g, err := ParseGate(plumb.GatePassRate, text)
		if err == nil && !(g.Least >= 0 && g.Least <= 1) {
			t.Errorf("%q has the share %v", text, g.Least)
		}
	})
}
