package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/analyze"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// driftCmd is plumb drift.
type driftCmd struct {
	*app
	projectFlags
	from     []string
	model    string
	since    setting.Milliseconds
	alphaDel float64
}

func driftCommand(a *app) *cobra.Command {
	c := &driftCmd{app: a}
	cmd := &cobra.Command{
		Use:   "drift [--model M] [--since 30d] | --from FILE...",
		Short: "Detect when a model changed behind its name",
		Long: `Detect when a model changed behind its name. Without --from, plumb drift reads the runs of this project: one
panel for each runner with its parameters, over one suite and one judge. With --from, it replays files of records, one JSON
object a line, in which several submitters may report on one model.

The exit code is 0 when nothing changed, 1 when a model changed, 2 when the command line or a record is invalid, and 3
when no panel had enough data. docs/drift.md describes the method and the records.`,
		Example: `  plumb drift
  plumb drift --model gpt-5 --since 30d
  plumb drift --from records.jsonl --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && len(c.from) == 0 {
				return plumb.WithHint(fmt.Errorf("drift: unexpected argument %q", args[0]),
					"plumb drift --from FILE reads records")
			}
			if cmd.Flags().Changed("since") && c.since <= 0 {
				return errors.New("--since must be greater than 0")
			}
			c.from = append(c.from, args...)
			return c.run(cmd.Context())
		},
	}
	fs := cmd.Flags()
	fs.StringArrayVar(&c.from, "from", nil, "replay the records of a `file`, - is standard input; repeatable, further files may follow")
	fs.StringVar(&c.model, "model", "", "only runners with this `model`, as gpt-5 or openai:gpt-5")
	fs.Var(&c.since, "since", "report only changes found in this `time`, such as 30d")
	numberVar(fs, &c.alphaDel, "alpha-del", "", drift.DeletionAlpha,
		"level that a change must reach without any quarter of the submitters, between 0 and 1")
	c.register(fs)
	return cmd
}

func (c *driftCmd) rules() (drift.Rules, error) {
	rules := drift.Rules{DeletionAlpha: c.alphaDel}
	if !(c.alphaDel > 0 && c.alphaDel < 1) {
		return rules, fmt.Errorf("--alpha-del %v is not between 0 and 1", c.alphaDel)
	}
	return rules, nil
}

func (c *driftCmd) run(ctx context.Context) error {
	rules, err := c.rules()
	if err != nil {
		return err
	}
	if len(c.from) > 0 {
		if c.model != "" || c.since != 0 {
			return plumb.WithHint(errors.New("--model and --since select local runs; --from replays all records"),
				"remove one of the flags")
		}
		return c.replay(ctx, rules)
	}
	oldest := math.MinInt
	if c.since > 0 {
		const day = 24 * time.Hour
		oldest = drift.DayOf(c.Now()) - int((c.since.Duration()+day-1)/day) + 1
	}
	p, err := c.open(ctx, c.projectFlags)
	if err != nil {
		return err
	}
	streams, err := drift.Local(p.Runs(), c.model, rules, func(id string, err error) {
		fmt.Fprintf(c.Stderr, "plumb: run %s is damaged: %s\n", id, c.clean(err.Error()))
	})
	if err != nil {
		return err
	}
	if len(streams) == 0 && !c.json {
		fmt.Fprintf(c.Stdout, "There are no measured runs in %s. Make one with: plumb run\n", c.shown(p.Runs()))
	}
	for _, s := range streams {
		s.Since(oldest)
	}
	return c.conclude(streams, true)
}

// replay reads files of records.
func (c *driftCmd) replay(ctx context.Context, rules drift.Rules) error {
	r := drift.NewReplay(rules)
	for _, name := range c.from {
		err := func() error {
			in := c.Stdin
			if name != "-" {
				f, err := files.OpenStream(c.path(name))
				if err != nil {
					return fmt.Errorf("read records: %w", err)
				}
				defer f.Close()
				in = f
			}
			return drift.Read(name, in, func(rec *drift.Record) error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return r.Add(rec)
			})
		}()
		if err != nil {
			return err
		}
	}
	r.Finish()
	if len(r.Streams) == 0 && !c.json {
		fmt.Fprintln(c.Stdout, "There are no records.")
	}
	return c.conclude(r.Streams, false)
}

// conclude prints the streams and returns the exit code.
func (c *driftCmd) conclude(streams []*drift.Stream, own bool) error {
	code := exitNotMeasured
	for _, s := range streams {
		if c.json {
			if err := c.printAlarms(s); err != nil {
				return err
			}
		} else {
			c.show(s, own)
		}
		if s.Tested && code == exitNotMeasured {
			code = exitOK
		}
		if s.Changed() {
			code = exitFailed
		}
	}
	return exit(code)
}

// printAlarms prints each alarm of each statistic as one line of JSON.
func (c *driftCmd) printAlarms(s *drift.Stream) error {
	for i := range s.Alarms {
		alarm, _ := redact.Clean(c.secrets(), drift.JSON(s.Name, &s.Alarms[i]))
		var line bytes.Buffer
		if err := alarm.Write(&line); err != nil {
			return err
		}
		if _, err := c.rawStdout.Write(text.EscapeJSON(line.Bytes())); err != nil {
			return err
		}
	}
	return nil
}

// show prints the state of a stream and its changes.
func (c *driftCmd) show(s *drift.Stream, own bool) {
	fmt.Fprintf(c.Stdout, "%s\n  %s\n", c.name(s.Name), c.clean(stateWords(s, own)))
	if words := regimeWords(s.Status.Regimes); words != "" {
		fmt.Fprintf(c.Stdout, "    %s\n", words)
	}
	for _, e := range s.Events() {
		for i, line := range eventLines(s, e, own) {
			indent := "    "
			if i == 0 {
				indent = "  "
			}
			fmt.Fprintf(c.Stdout, "%s%s\n", indent, c.line(line, 200))
		}
	}
}

// stateWords describes the state of a stream after its last day.
func stateWords(s *drift.Stream, own bool) string {
	st := s.Status
	on := " (last data " + drift.Date(st.Latest).Format(time.DateOnly) + ")"
	switch st.State {
	case drift.StateLearning:
		if st.Days >= 14 {
			return fmt.Sprintf("learning: %s with 8 runs, %d needed", text.Plural(st.Experienced, "submitter"), st.Needed) + on
		}
		return fmt.Sprintf("learning: %d of 14 days", max(0, st.Days)) + on
	case drift.StateThin:
		if own {
			return "thin: too few runs in these weeks to test; a run a day is enough" + on
		}
		return "thin: too few submitters or runs to test; at least 3 submitters are needed" + on
	case drift.StateGap:
		return "gap: no data for " + text.Plural(st.Day-st.Latest, "day") + on
	case drift.StateSuspect:
		return "suspect: possible change since " + drift.Date(st.Since).Format("2 January") + on
	case drift.StateChanged:
		return "changed since " + drift.Date(st.Since).Format("2 January") + on
	case drift.StateLocal:
		return "local: " + localWords(s.Alarms) + ", the others agree that nothing changed" + on
	case drift.StateFormat:
		return "format: only white space or the form of characters changed" + on
	case drift.StateMixed:
		return "mixed fleet: days differ more than the runs of one day, as with different hardware" + on
	default:
		words := "stable: no change seen for " + text.Plural(st.Days, "day")
		if drop := st.Detectable(14); drop > 0 {
			words += fmt.Sprintf("; a drop of the score by %.1f pp would be seen within 14 days", drop)
		}
		return words + on
	}
}

// localWords counts the submitters that differ in the latest alarm that blames some.
func localWords(alarms []drift.Alarm) string {
	for i := len(alarms) - 1; i >= 0; i-- {
		if a := &alarms[i]; len(a.Blamed) > 0 {
			return fmt.Sprintf("%d of %s differ", len(a.Blamed), text.Plural(a.Submitters, "submitter"))
		}
	}
	return "some submitters differ"
}

// regimeWords tells how much the answers to the prompts vary, or "".
func regimeWords(r drift.Regimes) string {
	var words []string
	for _, kind := range []struct {
		n    int
		name string
	}{{r.Deterministic, "deterministic"}, {r.Border, "border"}, {r.Free, "free text"}} {
		if kind.n > 0 {
			words = append(words, fmt.Sprintf("%d %s", kind.n, kind.name))
		}
	}
	if words != nil {
		words[0] = "prompts: " + words[0]
	}
	if r.ScoresOnly {
		words = append(words, "scores only")
	}
	if r.Logprobs {
		words = append(words, "log-probabilities")
	}
	return strings.Join(words, ", ")
}

// eventLines describes a drift event: when, how much, for whom, and why.
func eventLines(s *drift.Stream, e drift.Event, own bool) []string {
	a := e.Alarm
	word := kindWord(a.Kind)
	if a.Kind == drift.KindConfirmed && s.Possible {
		word = kindWord(drift.KindSuspect)
	}
	first := fmt.Sprintf("%s around %s", word, drift.Date(e.Onset).Format("2 January 2006"))
	if e.Low != e.High {
		first += fmt.Sprintf(" (%s to %s)", drift.Date(e.Low).Format("2 January"), drift.Date(e.High).Format("2 January"))
	}
	if f := a.Effect; !math.IsNaN(f.LostSimilarity) {
		first += fmt.Sprintf(": old and new answers are %.1f %% less alike than answers of one time",
			100*f.LostSimilarity)
		switch {
		case f.Alike > 0.01:
			first += fmt.Sprintf("; they vary less than before (%+.0f %%)", -100*f.Alike)
		case f.Alike < -0.01:
			first += fmt.Sprintf("; they vary more than before (%+.0f %%)", -100*f.Alike)
		}
	}
	lines := []string{first, scoreWords(a.Effect)}
	if !own {
		if len(a.Blamed) > 0 {
			lines = append(lines, localWords([]drift.Alarm{*a})+": "+strings.Join(a.Blamed, ", "))
		} else {
			lines = append(lines, fmt.Sprintf("%d of %s agree", a.Agreeing, text.Plural(a.Submitters, "submitter")))
		}
	}
	if e.Back != nil {
		lines = append(lines, fmt.Sprintf("back to the state before %s, from which it is not distinguishable (%s)",
			drift.Date(e.Back.Before).Format("2 January 2006"), analyze.PWords(e.Back.P)))
	}
	if a.Kind == drift.KindConfirmed {
		lines = append(lines, causeWords(a, own)...)
		for _, w := range a.Where {
			lines = append(lines, fmt.Sprintf("prompt %s: before %q, after %q", w.Prompt, text.Line(w.Before, 60),
				text.Line(w.After, 60)))
		}
		if s.Possible {
			lines = append(lines, "this is not sure enough for one of several panels (false discovery rate 0.1)")
		}
	}
	names := strings.Join(e.Statistics, ", ")
	return append(lines, fmt.Sprintf("found on %s by %s, %s against at most 30, %s",
		drift.Date(a.Day).Format(time.DateOnly), names, text.Plural(a.Window, "day"), analyze.PWords(a.P)))
}

// kindWord describes the kind of an alarm.
func kindWord(kind string) string {
	switch kind {
	case drift.KindSuspect:
		return "possible change"
	case drift.KindLocal:
		return "some submitters differ"
	case drift.KindFormat:
		return "the format changed"
	case drift.KindTrace:
		return "a change too small to matter"
	default:
		return "changed"
	}
}

// scoreWords tells whether scores are worse. That is another statement than whether answers changed.
func scoreWords(e drift.Effect) string {
	if math.IsNaN(e.Score) {
		return "there are no scores to tell whether it is better or worse"
	}
	figures := fmt.Sprintf("scores %+.1f pp, 95 %% between %+.1f and %+.1f", e.Score, e.ScoreLow, e.ScoreHigh)
	switch {
	case e.ScoreHigh < 0:
		return "worse: " + figures
	case e.ScoreLow > 0:
		return "better: " + figures
	default:
		return figures + ": not distinguishable from none"
	}
}

// causeWords names the cause, the recorded facts that changed, and what would tell the cause.
func causeWords(a *drift.Alarm, own bool) []string {
	var lines []string
	switch a.Cause.Cause {
	case drift.CauseUnknown:
		line := "cannot tell whether the provider changed; a control panel on another provider or a pinned model would tell"
		if own {
			line = "cannot tell whether the provider changed; runs of a second person, a control panel on another provider or " +
				"a pinned model would tell"
		}
		lines = append(lines, line)
	default:
		lines = append(lines, a.Cause.Cause)
	}
	for _, f := range a.Cause.Facts {
		side := "setup"
		if f.Provider {
			side = "provider"
		}
		lines = append(lines, fmt.Sprintf("%s: %s %s → %s (%s)", side, f.Name, f.Before, f.After,
			strings.Join(f.Submitters, ", ")))
	}
	return lines
}
