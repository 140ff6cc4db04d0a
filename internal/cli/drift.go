package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/drift"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/runlog"
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
object a line, in which several submitters may report on one model, or the logs that plumb submit --dry-run=FILE writes.

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
	streams, err := drift.Local(p.Runs(), c.model, rules, c.damaged)
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

func (c *driftCmd) damaged(run string, err error) {
	fmt.Fprintf(c.Stderr, "plumb: run %s is damaged: %s\n", run, c.clean(err.Error()))
}

// replay reads files of records, or logs of runs.
func (c *driftCmd) replay(ctx context.Context, rules drift.Rules) error {
	var logs []string
	for _, name := range c.from {
		if runlog.IsLog(c.path(name)) {
			logs = append(logs, c.path(name))
		}
	}
	if len(logs) > 0 {
		if len(logs) < len(c.from) {
			return plumb.WithHint(errors.New("--from has logs of runs and files of records"), "give them to two commands")
		}
		streams, err := drift.Logs(logs, "", rules, c.damaged)
		if err != nil {
			return err
		}
		return c.conclude(streams, true)
	}
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
	fmt.Fprintf(c.Stdout, "%s\n  %s\n", c.name(s.Name), c.clean(report.StateWords(s, own)))
	if s.Hidden > 0 {
		fmt.Fprintf(c.Stdout, "    The answers of %s are not shared: only their hashes are compared.\n", text.Plural(s.Hidden, "run"))
	}
	if words := report.RegimeWords(s.Status.Regimes); words != "" {
		fmt.Fprintf(c.Stdout, "    %s\n", words)
	}
	for _, e := range s.Events() {
		for i, line := range report.EventLines(s, e, own) {
			indent := "    "
			if i == 0 {
				indent = "  "
			}
			fmt.Fprintf(c.Stdout, "%s%s\n", indent, c.line(line, 200))
		}
	}
}
