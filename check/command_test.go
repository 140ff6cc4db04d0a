package check_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb/check"
)

// commandVectors are those of the documented command parser and matcher.
type commandVectors struct {
	ParseCommand []struct {
		Command             string           `json:"command"`
		Executable          *string          `json:"executable"`
		Positionals         []string         `json:"positionals"`
		Options             map[string][]any `json:"options"`
		EndOfOptions        bool             `json:"endOfOptions"`
		NormalizedFromShell bool             `json:"normalizedFromShell"`
	} `json:"parseCommand"`
	MatchCommand []struct {
		Command string `json:"command"`
		Matcher struct {
			Re           string         `json:"re"`
			Executable   string         `json:"executable"`
			Positionals  []string       `json:"positionals"`
			Options      map[string]any `json:"options"`
			EndOfOptions *bool          `json:"endOfOptions"`
			Exact        bool           `json:"exact"`
			Strict       bool           `json:"strict"`
		} `json:"matcher"`
		Matches bool `json:"matches"`
	} `json:"matchCommand"`
}

func readCommandVectors(t *testing.T) commandVectors {
	t.Helper()
	data, err := os.ReadFile("testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var v commandVectors
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestParseCommand(t *testing.T) {
	for _, v := range readCommandVectors(t).ParseCommand {
		got := check.ParseCommand(v.Command)
		want := check.Command{
			Positionals:  v.Positionals,
			Options:      map[string][]check.OptionValue{},
			EndOfOptions: v.EndOfOptions,
			FromShell:    v.NormalizedFromShell,
		}
		if v.Executable != nil {
			want.Executable = *v.Executable
		}
		if len(want.Positionals) == 0 {
			want.Positionals = nil
		}
		for name, values := range v.Options {
			for _, value := range values {
				o := check.OptionValue{Flag: value == true}
				if text, ok := value.(string); ok {
					o.Value = text
				}
				want.Options[name] = append(want.Options[name], o)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", v.Command, diff)
		}
	}
}

func TestCommandLine(t *testing.T) {
	looked := 0
	for _, v := range readCommandVectors(t).MatchCommand {
		m := v.Matcher
		l := check.CommandLine{
			Executable: m.Executable, Positionals: m.Positionals, EndOfOptions: m.EndOfOptions, Strict: m.Strict || m.Exact,
			Options: map[string][]string{},
		}
		usable := m.Re == ""
		for name, value := range m.Options {
			values := []string{}
			list, ok := value.([]any)
			if !ok && value != true {
				list = []any{value}
			}
			for _, item := range list {
				text, ok := item.(string)
				usable = usable && ok // patterns of parts are for suites in code
				values = append(values, text)
			}
			l.Options[name] = values
		}
		if !usable {
			continue
		}
		looked++
		if got := l.Matches(check.ParseCommand(v.Command)); got != v.Matches {
			t.Errorf("%q against %+v: %t, want %t", v.Command, l, got, v.Matches)
		}
	}
	if looked < 10 {
		t.Errorf("only %d vectors were looked at", looked)
	}
}

func FuzzParseCommand(f *testing.F) {
	f.Add(`env bash -lc "git commit -m'x y' --all=1 -- a"`)
	f.Fuzz(func(t *testing.T, command string) {
		c := check.ParseCommand(command)
		if c.Executable == "" && (len(c.Positionals) > 0 || len(c.Options) > 0) {
			t.Errorf("arguments without a program: %+v", c)
		}
		var any check.CommandLine
		if !any.Matches(c) {
			t.Error("what says nothing matches all")
		}
	})
}
