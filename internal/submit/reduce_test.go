package submit_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
	"github.com/plumb-eval/plumb/internal/runlog"
	"github.com/plumb-eval/plumb/internal/submit"
)

// logOf writes events to a log and returns it.
func logOf(tb testing.TB, events ...plumb.Event) *runlog.Log {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "log.jsonl")
	var b bytes.Buffer
	e := runlog.NewEncoder(&b)
	for i := range events {
		line, err := e.Line(&events[i])
		if err == nil {
			err = e.Write(line)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := os.WriteFile(name, b.Bytes(), 0o600); err != nil {
		tb.Fatal(err)
	}
	return runlog.At(name)
}

func reduce(tb testing.TB, log *runlog.Log, share plumb.Share) (string, submit.Reduced) {
	tb.Helper()
	var b bytes.Buffer
	r, err := submit.Reduce(log, share, nil, &b)
	if err != nil {
		tb.Fatal(err)
	}
	return b.String(), r
}

// read returns the log with these bytes, as a server reads it.
func read(tb testing.TB, log string) *runlog.Log {
	tb.Helper()
	name := filepath.Join(tb.TempDir(), "reduced.jsonl")
	if err := os.WriteFile(name, []byte(log), 0o600); err != nil {
		tb.Fatal(err)
	}
	l := runlog.At(name)
	l.Limits = runlog.Limits{LineBytes: submit.LineBytes, Bytes: 1 << 30, Depth: 64, Strict: true}
	return l
}

// byType returns the names of the fields on each list, by type: those that stay at scores, at answers,
// and only at sessions.
func byType() map[reflect.Type][3][]string {
	all := map[reflect.Type][3][]string{}
	for _, f := range submit.Lists() {
		names := func(list string) []string {
			return strings.Fields(strings.NewReplacer("~", "", "#", "").Replace(list))
		}
		all[f.Type] = [3][]string{names(f.Scores), names(f.Answers), names(f.Sessions)}
	}
	return all
}

// TestEveryFieldIsOnAList: each field of each type of which something can leave is on one list, and
// the lists name nothing else.
func TestEveryFieldIsOnAList(t *testing.T) {
	lists := byType()
	seen := map[reflect.Type]bool{}
	var walk func(of reflect.Type)
	walk = func(of reflect.Type) {
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		switch {
		case of.Kind() == reflect.Map || of.Kind() == reflect.Interface:
			t.Errorf("a field of the type %s stays, of which no list says what stays", of)
			return
		case of.Kind() != reflect.Struct || of == reflect.TypeFor[time.Time]() || seen[of]:
			return
		}
		seen[of] = true
		list, ok := lists[of]
		if !ok {
			t.Errorf("%s is on no list", of)
			return
		}
		on := map[string]int{}
		for i, words := range list {
			for _, name := range words {
				on[name]++
				if f, ok := of.FieldByName(name); !ok {
					t.Errorf("a list names %s.%s, which does not exist", of, name)
				} else if i < 2 {
					walk(f.Type)
				}
			}
		}
		for f := range of.Fields() {
			if f.IsExported() && on[f.Name] != 1 {
				t.Errorf("%s.%s is on %d lists, want one: decide whether it may leave a desk", of, f.Name, on[f.Name])
			}
		}
	}
	walk(reflect.TypeFor[plumb.Event]())
	for of := range lists {
		if !seen[of] {
			t.Errorf("%s is on a list, and no event has it", of)
		}
	}
}

// plant writes a canary into each text below v, and a value that is not zero elsewhere. path is the
// path of types and fields.
func plant(v reflect.Value, path string, planted map[string]string) {
	canary := func() string {
		sum := sha256.Sum256([]byte(path))
		c := "canary" + hex.EncodeToString(sum[:6])
		planted[c] = path
		return c
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(canary())
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), path, planted)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"key":"` + canary() + `"}`))
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			plant(v.Index(i), path, planted)
		}
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{canary(): canary()}))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)))
			return
		}
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() {
				plant(v.Field(i), v.Type().Name()+"."+f.Name, planted)
			}
		}
	default:
		panic(v.Type())
	}
}

// allTypes returns an event of each type, in which every text is a canary.
func allTypes(planted map[string]string) (events []plumb.Event) {
	for _, t := range []plumb.EventType{
		plumb.EventRunStarted, plumb.EventPlanned, plumb.EventRunResumed, plumb.EventSessionStarted,
		plumb.EventSessionFinished, plumb.EventSessionJudged, plumb.EventExecutionFinished, plumb.EventNote, plumb.EventRunFinished,
	} {
		var ev plumb.Event
		plant(reflect.ValueOf(&ev).Elem(), "", planted)
		ev.Type, ev.Blob = t, ""
		if ev.Info.Share = ""; t != plumb.EventRunStarted {
			ev.Info = nil
		}
		events = append(events, ev)
	}
	return events
}

// TestNothingElseLeaves: of the texts of a log only those of the listed fields are in the bytes. The
// golden files are what one agrees to.
func TestNothingElseLeaves(t *testing.T) {
	planted := map[string]string{}
	log := logOf(t, allTypes(planted)...)
	if len(planted) < 100 {
		t.Fatalf("%d canaries", len(planted))
	}
	for _, share := range []plumb.Share{plumb.ShareScores, plumb.ShareAnswers} {
		out, _ := reduce(t, log, share)
		left := map[string]bool{}
		for c, path := range planted {
			if strings.Contains(out, c) {
				left[path] = true
			}
		}
		allowed := map[string]bool{}
		for of, list := range byType() {
			for i, words := range list {
				for _, name := range words {
					if i == 0 || i == 1 && share == plumb.ShareAnswers {
						allowed[of.Name()+"."+name] = true
					}
				}
			}
		}
		for path := range left {
			if !allowed[path] {
				t.Errorf("%s: the text of %s leaves", share, path)
			}
		}
		golden.Equal(t, "testdata/"+string(share)+".txt", strings.Join(slices.Sorted(maps.Keys(left)), "\n")+"\n")
	}
	whole, _ := reduce(t, log, plumb.ShareSessions)
	for c, path := range planted {
		if !strings.Contains(whole, c) && path != "RunInfo.Share" && path != "RunnerInfo.BaseURL" && path != "Event.Type" && path != "Event.Blob" {
			t.Errorf("sessions: the text of %s is missing", path)
		}
	}
}

// TestReducedLog: a reduced log is a log, is the same each time, and has the figures of the whole one.
func TestReducedLog(t *testing.T) {
	for name, l := range map[string]*reporttest.Log{"models": reporttest.Mixed(), "agents": reporttest.AgentLog()} {
		log := logOf(t, l.Events...)
		whole, err := log.Fold(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, share := range plumb.Shares() {
			out, r := reduce(t, log, share)
			if again, s := reduce(t, log, share); again != out || s.Digest != r.Digest {
				t.Errorf("%s: two logs of level %s", name, share)
			}
			sum := sha256.Sum256([]byte(out))
			if want := "sha256:" + hex.EncodeToString(sum[:]); r.Digest != want || r.Bytes != int64(len(out)) {
				t.Errorf("%s: digest %s and %d bytes, want %s and %d", name, r.Digest, r.Bytes, want, len(out))
			}
			reread := read(t, out)
			if share == plumb.ShareSessions {
				reread.Limits.LineBytes = 1 << 30
			}
			run, err := reread.Fold(nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(whole.Totals, run.Totals); diff != "" || run.Info.Share != share {
				t.Errorf("%s, %s %s: %s", name, share, run.Info.Share, diff)
			}
			if _, err := submit.Reduce(reread, plumb.ShareScores, nil, &bytes.Buffer{}); err == nil {
				t.Error("a reduced log was reduced")
			}
			if name == "models" && share != plumb.ShareSessions { // the bytes are a promise: a digest names them
				golden.Equal(t, "testdata/"+string(share)+".jsonl", out)
			}
		}
	}
}

// TestNotShared: the reader of a reduced log gives words in the place of texts, never empty ones.
func TestNotShared(t *testing.T) {
	out, _ := reduce(t, logOf(t, reporttest.Mixed().Events...), plumb.ShareScores)
	sessions, verdicts := 0, 0
	err := read(t, out).Read(func(ev plumb.Event) error {
		if r := ev.Report; r != nil {
			sessions++
			if r.Prompt != plumb.NotShared || r.AnswerHash != "" && r.FinalOutput != plumb.NotShared {
				t.Errorf("prompt %q, answer %q", r.Prompt, r.FinalOutput)
			}
		}
		if ev.Judgement != nil {
			for _, v := range ev.Judgement.Verdicts {
				verdicts++
				if v.Reason != plumb.NotShared {
					t.Errorf("reason %q", v.Reason)
				}
			}
		}
		return nil
	})
	if err != nil || sessions == 0 || verdicts == 0 {
		t.Error(err, sessions, verdicts)
	}
}

// session returns the events of a run with one session.
func session(cases []plumb.CaseInfo, r *plumb.SessionReport, f *plumb.Failure, j *plumb.Judgement) []plumb.Event {
	l := reporttest.NewLog(reporttest.Info("gpt-5"), cases...)
	l.Session(cases[0].ID, "gpt-5", 1, 1, r, f, j)
	return l.Events
}

func TestAnswers(t *testing.T) {
	one := []plumb.CaseInfo{{ID: "one"}}
	first := func(out string, types ...plumb.EventType) (found plumb.Event) {
		err := read(t, out).Read(func(ev plumb.Event) error {
			if slices.Contains(types, ev.Type) && found.Type == "" {
				found = ev
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	long := strings.Repeat("a\"ü\n", 20_000)
	answer := reporttest.Answer(long, 5)
	out, r := reduce(t, logOf(t, session(one, answer, nil, nil)...), plumb.ShareAnswers)
	got := first(out, plumb.EventSessionFinished).Report
	switch {
	case r.Cut != 1, !slices.Contains(got.Incomplete, "finalOutput"), !strings.HasPrefix(long, got.FinalOutput):
		t.Errorf("%d cut, %v", r.Cut, got.Incomplete)
	case len(got.FinalOutput) < 20_000:
		t.Errorf("%d bytes are left", len(got.FinalOutput))
	case got.AnswerHash != drift.AnswerHash(long):
		t.Error("the hash is not that of the whole answer")
	}
	if drift.AnswerHash(" caf\u00e9\r\n") != drift.AnswerHash("cafe\u0301") {
		t.Error("the hash depends on the Unicode form or on white space")
	}

	empty := reporttest.Answer("", 5)
	out, _ = reduce(t, logOf(t, session(one, empty, nil, nil)...), plumb.ShareAnswers)
	if got := first(out, plumb.EventSessionFinished).Report; got.FinalOutput != "" || got.AnswerHash == "" {
		t.Errorf("an empty answer that is shared is %q", got.FinalOutput)
	}
	out, _ = reduce(t, logOf(t, session(one, empty, &plumb.Failure{Origin: plumb.OriginRunner}, nil)...), plumb.ShareScores)
	if got := first(out, plumb.EventSessionFinished); got.Report.AnswerHash != "" || got.Failure.Message != plumb.NotShared {
		t.Errorf("a session without an answer has the hash %q and the message %q", got.Report.AnswerHash, got.Failure.Message)
	}

	named := reporttest.Answer("yes", 5)
	named.Fingerprint, named.Runner.BaseURL = strings.Repeat("ü", 300), "https://gateway.internal/v1"
	out, _ = reduce(t, logOf(t, session(one, named, nil, nil)...), plumb.ShareScores)
	got = first(out, plumb.EventSessionFinished).Report
	if got.Fingerprint != strings.Repeat("ü", 200) || !strings.HasPrefix(got.Runner.BaseURL, "sha256:") || strings.Contains(out, "gateway") {
		t.Errorf("fingerprint %q, address %q", got.Fingerprint, got.Runner.BaseURL)
	}
}

// TestLongLines: what is longer than a line of a submission is divided, loses messages, or is refused.
func TestLongLines(t *testing.T) {
	var cases []plumb.CaseInfo
	for i := range 1000 {
		cases = append(cases, plumb.CaseInfo{ID: fmt.Sprintf("%0200d", i)})
	}
	out, r := reduce(t, logOf(t, session(cases, reporttest.Answer("yes", 5), nil, nil)...), plumb.ShareScores)
	if run, err := read(t, out).Fold(nil); err != nil || len(run.Cases) != 1000 || r.Parts[1].Lines < 4 {
		t.Error(err, r.Parts[1])
	}
	var verdicts []plumb.Verdict
	for range 500 {
		verdicts = append(verdicts, plumb.Verdict{Name: "contains", Pass: true, Reason: strings.Repeat("x", 200)})
	}
	log := logOf(t, session(cases[:1], reporttest.Answer("yes", 5), nil, reporttest.Passed(verdicts...))...)
	out, _ = reduce(t, log, plumb.ShareAnswers)
	if strings.Contains(out, "xxx") || strings.Count(out, "contains") != 500 {
		t.Error("the messages of a judgement with too many are not left out")
	}
	verdicts[0].Name = strings.Repeat("n", submit.LineBytes)
	log = logOf(t, session(cases[:1], reporttest.Answer("yes", 5), nil, reporttest.Passed(verdicts...))...)
	if _, err := submit.Reduce(log, plumb.ShareScores, nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "64 KiB") {
		t.Error(err)
	}
}

func TestRefuse(t *testing.T) {
	done := reporttest.Mixed().Run(t)
	for name, test := range map[string]struct {
		change               func(*plumb.Run)
		demo, going, partial bool
		want                 string
	}{
		"complete":         {partial: true},
		"demo":             {demo: true, want: "recording"},
		"going on":         {going: true, want: "going on"},
		"partly":           {going: true, partial: true},
		"replayed":         {change: func(r *plumb.Run) { r.Info.Runners[0].Kind = plumb.RunnerReplay }, want: "replayed"},
		"judged again":     {change: func(r *plumb.Run) { r.Info.ScoredFrom = "x" }, want: "judged"},
		"killed":           {change: func(r *plumb.Run) { r.End = nil }, want: "not complete"},
		"nothing measured": {change: func(r *plumb.Run) { r.Totals.Passed, r.Totals.Failed = 0, 0 }, partial: true, want: "nothing"},
	} {
		run := *done
		run.Info.Runners = slices.Clone(run.Info.Runners)
		if test.change != nil {
			test.change(&run)
		} else {
			run.Totals.Finished = run.Totals.Planned
		}
		err := submit.Refuse(&run, test.demo, test.going, test.partial)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDriftOfReducedLogs: whole and reduced logs of one runner are one panel, although only hashes stay
// of the address and of the answers.
func TestDriftOfReducedLogs(t *testing.T) {
	l := reporttest.Simple(3)
	l.Events[0].Info.Runners[0].BaseURL = "https://gateway.internal/v1"
	log := logOf(t, l.Events...)
	paths := []string{log.Name}
	for _, share := range plumb.Shares() {
		out, _ := reduce(t, log, share)
		paths = append(paths, read(t, out).Name)
	}
	streams, err := drift.Logs(paths, "", drift.Rules{}, func(run string, err error) { t.Error(run, err) })
	if err != nil || len(streams) != 1 || streams[0].Hidden != 1 {
		t.Error(err, len(streams))
	}
}
