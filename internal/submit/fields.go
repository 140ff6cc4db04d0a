package submit

import (
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/plumb-eval/plumb"
)

// Fields lists the fields of one type of the run log by the smallest level at which they stay. Of a
// field with "~" the first [longest] characters stay, and of one with "#" the hash.
type Fields struct {
	Type                      reflect.Type
	Scores, Answers, Sessions string
}

// longest is the number of characters that stay of a name that a provider or a program reports.
const longest = 200

// Lists has the fields of each type of which a field stays below the level sessions. What is on no list
// goes: a new field cannot leave before somebody puts it here. A test wants each field on a list.
func Lists() []Fields {
	return []Fields{
		{
			reflect.TypeFor[plumb.Event](),
			"Type At Case Runner Repetition Session Info Repeat Cases Report Failure Judgement Result End Decision", "",
			"Marker Blob Note",
		},
		{
			reflect.TypeFor[plumb.RunInfo](),
			"ID PlumbVersion~ Share SuiteName SuiteVersion~ Tier SuiteHash Runners Cases SuiteCases Judge~ SelfJudged Embedder~ " +
				"Schedule Parallel Repeat Retry MaxSteps MinKappa Setup", "",
			"SuitePath DeclaredTags SelectedTags Workspace ArtifactDir ScoredFrom JudgeRepeat Gates",
		},
		{
			reflect.TypeFor[plumb.CaseInfo](),
			"ID Hash Prompt Item Category Difficulty Repeat ExpectedFail PromptHash ChecksHash TimeoutMs MaxSteps", "",
			"Tags Metadata Source",
		},
		{reflect.TypeFor[plumb.RunnerInfo](), "ID PathKey Kind Agent BaseURL# Parameters Config RecordedKind", "", ""},
		{reflect.TypeFor[plumb.AgentInfo](), "Type Model~", "", ""},
		{reflect.TypeFor[plumb.Parameters](), "Temperature TopP Seed MaxOutputTokens ReasoningEffort", "", ""},
		{reflect.TypeFor[plumb.Setup](), "Scoring TimeoutMs AllRepetitions Judge Embedder Template Runners", "", ""},
		{reflect.TypeFor[plumb.JudgeSetup](), "Votes Question Config", "", ""},
		{reflect.TypeFor[plumb.RunnerSetup](), "API Program TimeoutMs Permissions Version~ InheritConfig", "", "Skills Instructions MCPServers"},
		{
			reflect.TypeFor[plumb.SessionReport](),
			"Runner Usage AnswerHash StartedAt EndedAt DurationMs LatencyMs Model~ Fingerprint~ FinishReason ProviderFinishReason~ " +
				"Requested Sent Effective Refused Requests CostUSD Cached Recorded AgentVersion~ Steps",
			"FinalOutput Incomplete",
			"SessionID Prompt Files DetectedSkills Events RawArtifacts RequestID TakenFrom Workspace ExitCode RequestUsage Offered " +
				"PermissionDenials Subagents UnprovenReads Redacted Notes",
		},
		{
			reflect.TypeFor[plumb.Usage](),
			"InputTokens OutputTokens ReasoningTokens CacheTokens CacheWriteTokens TotalTokens InputChars OutputChars " +
				"ReasoningChars Source", "", "",
		},
		{reflect.TypeFor[plumb.UsageSource](), "Input Output Reasoning", "", ""},
		{
			reflect.TypeFor[plumb.Failure](),
			"Origin Class Provider HTTPStatus NotAsked Attempts", "",
			"Message Hint RequestID LogPath Name Source Stack",
		},
		{reflect.TypeFor[plumb.FailureClass](), "ID Label", "", ""},
		{reflect.TypeFor[plumb.Judgement](), "Outcome Status Score Verdicts Failure", "", ""},
		{
			reflect.TypeFor[plumb.Verdict](),
			"Name Pass Score Weight Class Error Asked", "Reason",
			"Expected Got Details Source Stack Questions At",
		},
		{reflect.TypeFor[plumb.Asked](), "Model~ Self PromptHash Votes Yes No Requests Usage CostUSD", "", "Replies"},
		{
			reflect.TypeFor[plumb.ExecutionResult](),
			"Outcome Status Score Origin Class Passed Failed Errored Sessions NotAsked Cached Steps DurationMs LatencyMs Usage " +
				"CostUSD JudgeUsage JudgeCostUSD", "",
			"Reason Snapshot Judged",
		},
		{reflect.TypeFor[plumb.RunEnd](), "Stop Remaining DurationMs", "", ""},
		{
			reflect.TypeFor[plumb.Decision](),
			"Conclusion Drawn Limit Measured Lost Won Value Low High Confidence Detectable Cases Alpha Margin Exhausted", "",
			"Against Gate BaselineRun Evidence Fresh FreshMade FreshCostUSD Suspects Whole",
		},
	}
}

// strip zeroes the fields of a value that do not stay at a level.
type strip map[reflect.Type][]func(reflect.Value)

// newStrip returns the strip of a level below sessions.
func newStrip(share plumb.Share) strip {
	s := strip{}
	for _, f := range Lists() {
		names, t := f.Scores, f.Type
		if share == plumb.ShareAnswers {
			names += " " + f.Answers
		}
		stays := map[string]string{}
		for word := range strings.FieldsSeq(names) {
			name := strings.TrimRight(word, "~#")
			stays[name] = word[len(name):]
		}
		for i := range t.NumField() {
			if t.Field(i).IsExported() {
				mark, ok := stays[t.Field(i).Name]
				s[t] = append(s[t], s.field(i, mark, ok))
			}
		}
	}
	return s
}

// field returns what the strip does with field i of a struct.
func (s strip) field(i int, mark string, stays bool) func(reflect.Value) {
	switch {
	case !stays:
		return func(v reflect.Value) { v.Field(i).SetZero() }
	case mark == "~":
		return func(v reflect.Value) { v.Field(i).SetString(cut(v.Field(i).String())) }
	case mark == "#":
		return func(v reflect.Value) { v.Field(i).SetString(plumb.AddressHash(v.Field(i).String())) }
	default:
		return func(v reflect.Value) { s.value(v.Field(i)) }
	}
}

// value strips a value in its place.
func (s strip) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			s.value(v.Elem())
		}
	case reflect.Slice:
		if elem := v.Type().Elem().Kind(); elem == reflect.Struct || elem == reflect.Pointer {
			for i := range v.Len() {
				s.value(v.Index(i))
			}
		}
	case reflect.Struct:
		do, ok := s[v.Type()]
		if !ok && !leaf(v.Type()) {
			v.SetZero()
		}
		for _, f := range do {
			f(v)
		}
	case reflect.Map, reflect.Interface:
		v.SetZero() // no list is about their content
	default:
	}
}

// leaf reports whether a struct is a single value, such as a time.
func leaf(t reflect.Type) bool { return !strings.HasSuffix(t.PkgPath(), "/plumb") }

func cut(text string) string {
	if utf8.RuneCountInString(text) <= longest {
		return text
	}
	return string([]rune(text)[:longest])
}
