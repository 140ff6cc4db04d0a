package check

import (
	"strings"

	"github.com/plumb-eval/plumb"
)

// alias is the name of a check in another tool, and what it is here: a kind with what to add, or
// only an advice.
type alias struct{ names, kind, advice string }

// aliases lists the names of checks in other tools, such as promptfoo, separated by spaces. "-" and
// "_" are the same.
func aliases() []alias {
	return []alias{
		{"equals equal eq is exact match", "exact_match", ""},
		{"iequals", "exact_match", `with "case_sensitive": false`},
		{"icontains includes_ignore_case", "contains", `with "case_sensitive": false`},
		{"includes include has substring", "contains", ""},
		{"icontains_any", "contains_any", `with "case_sensitive": false`},
		{"icontains_all", "contains_all", `with "case_sensitive": false`},
		{"istarts_with prefix begins_with", "starts_with", ""},
		{"suffix", "ends_with", ""},
		{"matches match_regex pattern", "regex", ""},
		{"json valid_json contains_json", "is_json", `which also finds JSON in a fenced block; json_schema checks its form`},
		{"is_valid_json_schema schema jsonschema", "json_schema", ""},
		{"jsonpath", "json_path", ""},
		{"json_equals json_equal deep_equal", "equals_json", ""},
		{"xml contains_xml valid_xml", "is_xml", ""},
		{"llm_rubric model_graded_closedqa closedqa model_graded_factuality factuality llm_as_judge g_eval judge model_graded " +
			"answer_relevance context_recall context_relevance context_faithfulness rubric prompt_rubric pi select_best " +
			"conversation_relevance search_rubric", "llm_judge", `with "judge_prompt", a question that YES or NO answers`},
		{"similar similarity cosine embedding embedding_similarity semantic", "semantic_similarity", `with "threshold"`},
		{"javascript script code ts typescript function", "js", `with "expr" or "file"`},
		{"python py ruby exec shell program webhook", "command", `with "run", such as ["python3", "check.py"]`},
		{"edit_distance", "levenshtein", `with "max" or "threshold"`},
		{"rouge_n rouge_1 rouge_2 rouge1 rouge2", "rouge", `with "n"`},
		{"bleu_4 sacrebleu", "bleu", ""},
		{"google_bleu", "gleu", ""},
		{"is_refusal refused refuses", "refusal", ""},
		{"wordcount words max_words min_words", "word_count", `with "min" and "max"`},
		{"latency response_time", "max_latency_ms", `with "max" in milliseconds`},
		{"cost price", "max_cost_usd", `with "max" in US dollars`},
		{"duration", "max_duration_ms", `with "max" in milliseconds`},
		{"stop_reason", "finish_reason", ""},
		{"assert_set and all", "all_of", `with "assertions", and "min_score" for a threshold`},
		{"or any", "any_of", ""},
		{"tool_call tool_calls used_tool is_valid_openai_tools_call tool_call_f1 trajectory:tool_used", "called_tool", `with "tool"`},
		{"skill_used skill", "used_skill", `with "skill"`},
		{"not_empty nonempty non_empty", "word_count", `with "min": 1`},
		{"length max_length min_length", "js", `such as {"type": "js", "expr": "output.length < 100"}`},
		{
			"is_html contains_html html is_sql contains_sql sql meteor perplexity perplexity_score moderation guardrails classifier " +
				"is_valid_openai_function_call is_valid_function_call trace_span_count trace_span_duration trace_error_spans max_score",
			"", "there is no such check; js and command run your own",
		},
	}
}

// TypeHint returns what to write in place of an unknown type.
func TypeHint(name string) string {
	const all = "plumb help checks lists all types"
	plain := strings.ToLower(strings.ReplaceAll(strip(name), "-", "_"))
	rest, not := strings.CutPrefix(plain, "not_")
	if plain == "not_empty" {
		rest, not = plain, false
	}
	with := ""
	if not {
		with = `"not": true`
	}
	hint := func(kind, advice string) string {
		var parts []string
		for _, part := range []string{advice, with} {
			if part != "" {
				parts = append(parts, part)
			}
		}
		text := strings.Join(parts, " and ")
		if not && advice == "" {
			text = "with " + with
		}
		question := strings.TrimSpace(`did you mean "`+kind+`" `+text) + "?"
		if advice == "" {
			return question
		}
		return question + " See plumb help checks " + kind
	}
	loadKinds()
	if kindOf(rest) != nil {
		return hint(rest, "")
	}
	for _, a := range aliases() {
		for word := range strings.FieldsSeq(a.names) {
			switch {
			case word != rest:
			case a.kind == "":
				return a.advice
			default:
				return hint(a.kind, a.advice)
			}
		}
	}
	if near := plumb.Nearest(rest, kinds.names); near != "" {
		return hint(near, "")
	}
	return all
}
