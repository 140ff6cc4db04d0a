package calibrate_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/internal/calibrate"
)

// judge answers what decide says about a request.
type judge struct {
	decide func(user string, n int) string

	mu   sync.Mutex
	seen []plumb.Request
}

func (j *judge) Info() plumb.RunnerInfo {
	return plumb.RunnerInfo{
		ID: "judge", Config: "sha256:0123456789abcdef", Agent: plumb.AgentInfo{Type: "fake", Model: "judge"},
	}
}

func (j *judge) Run(_ context.Context, req plumb.Request) (*plumb.SessionReport, error) {
	j.mu.Lock()
	j.seen = append(j.seen, req)
	n := len(j.seen)
	j.mu.Unlock()
	word := j.decide(req.Messages[len(req.Messages)-1].Content, n)
	if word == "" {
		return nil, errors.New("out of order")
	}
	return &plumb.SessionReport{FinalOutput: word, Model: "judge-1", CostUSD: new(0.25)}, nil
}

func ask(t *testing.T, gold string, j *judge, votes int) ([]*calibrate.Calibration, []calibrate.Answer) {
	t.Helper()
	items, _, err := calibrate.Parse("gold.jsonl", []byte(gold))
	if err != nil {
		t.Fatal(err)
	}
	answers := calibrate.Ask(t.Context(), items, calibrate.AskOptions{
		Judge: &plumb.Judge{Runner: j}, Votes: votes, Parallel: 3,
	})
	return calibrate.Compare(answers, j.Info(), votes)
}

// gold has n items with the given label, whose output says what the judge will answer.
func gold(label, answer string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"input":"t","output":"%s-%s-%d","judge_prompt":"Is it?","label":%q}`+"\n", label, answer, i, label)
	}
	return b.String()
}

// says answers YES if the output says so.
func says(user string, _ int) string {
	if strings.Contains(user, "-YES-") {
		return "YES"
	}
	return "NO"
}

func value(f calibrate.Figure) float64 {
	if f.Value == nil {
		return math.NaN()
	}
	return *f.Value
}

func near(t *testing.T, name string, f calibrate.Figure, want, low, high float64) {
	t.Helper()
	const tolerance = 5e-4
	if f.Value == nil || f.Low == nil || math.Abs(*f.Value-want) > tolerance || math.Abs(*f.Low-low) > tolerance ||
		math.Abs(*f.High-high) > tolerance {
		t.Errorf("%s: %v [%v, %v], want %v [%v, %v]", name, value(f), f.Low, f.High, want, low, high)
	}
}

// The table is the example of Fleiss, Cohen and Everitt's standard error: kappa 0.4, error 0.1270.
func TestFigures(t *testing.T) {
	t.Parallel()
	all, failed := ask(t, gold("pass", "YES", 20)+gold("pass", "NO", 5)+gold("fail", "YES", 10)+gold("fail", "NO", 15),
		&judge{decide: says}, 1)
	if len(all) != 1 || len(failed) != 0 {
		t.Fatalf("%d calibrations, %d failed", len(all), len(failed))
	}
	c := all[0]
	if c.Table != [2][2]int{{20, 5}, {10, 15}} || c.Few || c.Items != 50 || c.Identity.Model != "judge-1" ||
		c.Identity.Question != check.QuestionHash("Is it?") {
		t.Errorf("%+v", c)
	}
	near(t, "kappa", c.Kappa, .4, .4-1.95996*.127, .4+1.95996*.127)
	near(t, "false pass", c.FalsePass, .4, .2340, .5926)
	near(t, "false fail", c.FalseFail, .2, .0886, .3913)
	if got := value(c.Bias); math.Abs(got-.1) > 1e-9 {
		t.Errorf("bias %v, want the judge's rate .6 - the gold rate .5", got)
	}
	if c.VotesDiffer.Value != nil || value(c.Swap) != 0 || c.Raters.Value != nil {
		t.Errorf("%+v %+v %+v", c.VotesDiffer, c.Swap, c.Raters)
	}
	if got := c.Warnings(.6); len(got) != 1 || !strings.Contains(got[0], "below 0.6") {
		t.Errorf("warnings %q", got)
	}
}

func TestFewItems(t *testing.T) {
	t.Parallel()
	all, _ := ask(t, gold("pass", "YES", 30)+gold("fail", "NO", 19), &judge{decide: says}, 1)
	c := all[0]
	if !c.Few || c.FalsePass.Method != "Clopper-Pearson" || c.Kappa.Low != nil || c.Bias.Low != nil ||
		len(c.Warnings(.6)) != 1 {
		t.Errorf("%+v, warnings %q", c, c.Warnings(.6))
	}
	all, _ = ask(t, gold("pass", "YES", 2), &judge{decide: says}, 1)
	if c := all[0]; c.Kappa.Value != nil || c.FalsePass.Value != nil || len(c.Warnings(.6)) != 2 {
		t.Errorf("one label: %+v, warnings %q", c, c.Warnings(.6))
	}
}

// A judge that cannot answer an item makes an error of it, and one that answers with some votes a
// verdict.
func TestErrorsAreNoDisagreements(t *testing.T) {
	t.Parallel()
	all, failed := ask(t, gold("pass", "YES", 3)+gold("pass", "BROKEN", 2), &judge{decide: func(user string, n int) string {
		if strings.Contains(user, "BROKEN") {
			return ""
		}
		return says(user, n)
	}}, 1)
	if len(failed) != 2 || all[0].Items != 3 || all[0].Errors != 2 || value(all[0].Agreement) != 1 {
		t.Errorf("%d failed, %+v", len(failed), all[0])
	}
	if failed[0].Item.Place.Line != 4 {
		t.Errorf("failed at %v", failed[0].Item.Place)
	}
}

// The order matters to this judge, in both kinds of items.
func TestSwap(t *testing.T) {
	t.Parallel()
	const pair = `{"input":"t","output":"A","output_b":"B","judge_prompt":"Is the first better?","label":"pass"}` + "\n"
	first := &judge{decide: func(string, int) string { return "YES" }} // always the first
	all, _ := ask(t, pair, first, 1)
	if got := value(all[0].Swap); got != 1 {
		t.Errorf("a judge that prefers the first output: swap %v", got)
	}
	better := &judge{decide: func(user string, _ int) string {
		if strings.Index(user, "\nA\n") < strings.Index(user, "\nB\n") {
			return "YES"
		}
		return "NO"
	}}
	all, _ = ask(t, pair, better, 1)
	if got := value(all[0].Swap); got != 0 {
		t.Errorf("a judge that prefers A: swap %v", got)
	}
	order := &judge{decide: func(user string, _ int) string {
		if strings.HasPrefix(user, "<answer") {
			return "NO"
		}
		return "YES"
	}}
	all, _ = ask(t, gold("pass", "YES", 4), order, 1)
	if got := value(all[0].Swap); got != 1 || value(all[0].Agreement) != 1 {
		t.Errorf("a judge that reads the task first: swap %v", got)
	}
}

func TestStability(t *testing.T) {
	t.Parallel()
	// Two of three votes are YES, on each item: the flip rate of one is 2·2·1/(3·2) = 2/3.
	var n sync.Map
	j := &judge{decide: func(user string, _ int) string {
		_, after, _ := strings.Cut(user, ">\n")
		key := after[strings.Index(after, "pass-"):strings.LastIndex(after, "\n</answer")] + user[:5]
		count, _ := n.LoadOrStore(key, new(int))
		c := count.(*int)
		if *c++; *c == 1 {
			return "NO"
		}
		return "YES"
	}}
	all, _ := ask(t, gold("pass", "x", 5), j, 3)
	if c := all[0]; value(c.VotesDiffer) != 1 || math.Abs(value(c.FlipRate)-2.0/3) > 1e-9 || value(c.Agreement) != 1 {
		t.Errorf("%+v %+v", c.VotesDiffer, c.FlipRate)
	}
}

// Equal questions are equal requests, so that the cache answers them, and different votes are not.
func TestRequestsAreReproducible(t *testing.T) {
	t.Parallel()
	text := func() []string {
		j := &judge{decide: says}
		ask(t, gold("pass", "YES", 2), j, 3)
		var all []string
		for _, r := range j.seen {
			all = append(all, fmt.Sprint(r.Repetition, r.Messages))
		}
		slices.Sort(all)
		return all
	}
	a, b := text(), text()
	if !slices.Equal(a, b) || len(slices.Compact(a)) != 12 {
		t.Errorf("%d different requests", len(slices.Compact(a)))
	}
}

func TestRaters(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 40 {
		label := []string{"pass", "fail"}[i%2]
		bob := label
		if i%10 == 0 {
			bob = "fail"
		}
		fmt.Fprintf(&b, `{"input":"t","output":"%d","judge_prompt":"Is it?","label":%q,"labels":{"ann":%q,"bob":%q}}`+"\n",
			i, label, label, bob)
	}
	all, _ := ask(t, b.String(), &judge{decide: func(string, int) string { return "YES" }}, 1)
	c := all[0]
	if c.Raters.N != 40 || c.Raters.Low == nil || value(c.Raters) < .7 || value(c.RatersAndJudge) > .5 {
		t.Errorf("%v, with the judge %v", value(c.Raters), value(c.RatersAndJudge))
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 50 {
		fmt.Fprintf(&b, `{"input":"t","output":"%d","judge_prompt":"Is it?","label":%g}`+"\n", i, float64(i)/50)
	}
	all, _ := ask(t, b.String(), &judge{decide: func(string, int) string { return "YES" }}, 1)
	c := all[0]
	if c.Passes != 25 || c.Fails != 25 || math.Abs(value(c.Bias)-.51) > 1e-9 || c.Bias.Low == nil {
		t.Errorf("%+v, bias %v", c, value(c.Bias))
	}
}

func TestStore(t *testing.T) {
	t.Parallel()
	s := calibrate.Store{Dir: filepath.Join(t.TempDir(), "judges")}
	if all, err := s.Read(); len(all) != 0 || err != nil {
		t.Fatalf("an empty project: %v, %v", all, err)
	}
	c, _ := ask(t, gold("pass", "YES", 2), &judge{decide: says}, 1)
	for range 2 { // the second replaces the first
		if _, err := s.Write(c[0]); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(s.Dir, "x.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := s.Read()
	if len(all) != 1 || all[0].Identity != c[0].Identity || err == nil || !strings.Contains(err.Error(), "x.json") {
		t.Errorf("%v, %v", all, err)
	}
}

// F18: copies of items, in any order, also with other white space around their texts or with another
// case, change no figure of a calibration.
func TestF18CopiesAreOneItem(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		lines := strings.Split(strings.TrimSpace(
			gold("pass", "YES", rapid.IntRange(1, 30).Draw(rt, "a"))+gold("pass", "NO", rapid.IntRange(0, 9).Draw(rt, "b"))+
				gold("fail", "YES", rapid.IntRange(0, 9).Draw(rt, "c"))+gold("fail", "NO", rapid.IntRange(1, 30).Draw(rt, "d")),
		), "\n")
		want, _ := ask(t, strings.Join(lines, "\n"), &judge{decide: says}, 1)
		all := slices.Clone(lines)
		for i, line := range lines {
			for range rapid.IntRange(0, 3).Draw(rt, "copies") {
				line := line
				switch rapid.IntRange(0, 2).Draw(rt, "how") {
				case 1:
					line = strings.Replace(line, `"input":"t"`, `"input":" t\r\n"`, 1)
				case 2:
					line = strings.Replace(line, `{`, fmt.Sprintf(`{"case":"c%d",`, i), 1)
				}
				all = append(all, line)
			}
		}
		rest := rapid.Permutation(all[len(lines):]).Draw(rt, "order")
		text := strings.Join(append(slices.Clone(lines), rest...), "\n")
		_, warnings, err := calibrate.Parse("gold.jsonl", []byte(text))
		if err != nil || (len(rest) > 0) != (len(warnings) == 1) {
			rt.Fatalf("%v, %v", warnings, err)
		}
		got, _ := ask(t, text, &judge{decide: says}, 1)
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("copies change the calibration (-without +with):\n%s", diff)
		}
	})
}

func TestF18CopiesAreNamed(t *testing.T) {
	t.Parallel()
	line := func(label, more string) string {
		return fmt.Sprintf(`{"input":"t","output":"o","judge_prompt":"Is it?","label":%q%s}`+"\n", label, more)
	}
	for text, want := range map[string]string{
		strings.Repeat(line("pass", ""), 25) + strings.ReplaceAll(strings.Repeat(line("fail", ""), 2), `"o"`, `"p"`): "" +
			"gold.jsonl: warning: 25 of 27 items are copies, and an item counts once: lines 2-25 of line 1; 27 of line 26",
		line("pass", "") + line("fail", ""): "gold.jsonl:2:1: label: fail, but the same item has the label pass in line 1",
		line("pass", `,"labels":{"ann":"pass"}`) + line("pass", `,"labels":{"ann":"fail"}`): "" +
			"gold.jsonl:2:1: labels.ann: the same item has another label of ann in line 1",
		line("pass", `,"labels":{"ann":"pass"}`) + line("pass", `,"labels":{"bob":"fail"}`): "" +
			"gold.jsonl: warning: 1 of 2 items are copies, and an item counts once: lines 2 of line 1",
	} {
		items, warnings, err := calibrate.Parse("gold.jsonl", []byte(text))
		got := warnings.Error()
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("got %s, want %s", got, want)
		}
		if strings.Contains(text, "bob") && len(items[0].Raters) != 2 {
			t.Errorf("raters %v", items[0].Raters)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(gold("pass", "YES", 2))
	f.Add(`{"messages":[{"role":"user","content":"a"}],"output":"b","output_b":"c","judge_prompt":"d","label":0.5,"labels":{"x":1}}`)
	f.Add(`{"label":{}}` + "\n[]\n" + `{"messages":[1],"labels":[],"label":1e999}`)
	f.Fuzz(func(t *testing.T, text string) {
		items, _, err := calibrate.Parse("gold.jsonl", []byte(text))
		if (err == nil) == (len(items) == 0) {
			t.Errorf("%d items, %v", len(items), err)
		}
		for _, i := range items {
			if i.Question == "" || !(i.Label >= 0 && i.Label <= 1) {
				t.Errorf("%+v", i)
			}
		}
	})
}
