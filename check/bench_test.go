package check

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

func BenchmarkParse(b *testing.B) {
	for name, spec := range map[string]string{
		"contains_any": `{"type": "contains_any", "case_sensitive": false}`,
		"exact_match":  `{"type": "exact_match"}`,
		"regex":        `{"type": "regex", "pattern": "\\b[A-Z]{3}\\d+\\b"}`,
		"numeric":      `{"type": "numeric", "value": 42, "tolerance": 0.5}`,
		"schema":       `{"type": "json_schema", "schema": {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer"}}}}`,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			raw, ideal := json.RawMessage(spec), Ideal{Values: []string{"5 minutes", "5 mins"}, List: true, Set: true}
			for b.Loop() {
				if c, problems := Parse(raw, ideal); c == nil {
					b.Fatal(problems)
				}
			}
		})
	}
}

func BenchmarkCanonical(b *testing.B) {
	c := ContainsAny([]string{"5 minutes", "5 mins"}, &Text{IgnoreCase: true})
	b.ReportAllocs()
	for b.Loop() {
		c.Canonical()
	}
}

func BenchmarkAssert(b *testing.B) {
	output := strings.Repeat("The quick brown fox jumps over the lazy dog. ", 9) + "It takes 5 minutes."
	for name, spec := range map[string]string{
		"contains":     `{"type": "contains"}`,
		"contains_any": `{"type": "contains_any", "case_sensitive": false}`,
		"regex":        `{"type": "regex", "pattern": "\\b\\d+ min"}`,
		"numeric":      `{"type": "numeric", "value": 5}`,
		"is_json":      `{"type": "is_json"}`,
		"json_path":    `{"type": "json_path", "path": "$.a"}`,
		"schema":       `{"type": "json_schema", "schema": {"type": "object", "required": ["a"]}}`,
	} {
		b.Run(name, func(b *testing.B) {
			c, problems := Parse(json.RawMessage(spec), Ideal{Values: []string{"5 minutes", "5 mins"}, Set: true})
			if c == nil {
				b.Fatal(problems)
			}
			report := &plumb.SessionReport{FinalOutput: output}
			if strings.Contains(name, "js") || name == "schema" {
				report.FinalOutput = "```json\n{\"a\": [" + strings.Repeat("1234, ", 60) + "5]}\n```"
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Assert(context.Background(), plumb.Evidence{Report: report}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
