package cli

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/garbage"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/setting"
	"github.com/plumb-eval/plumb/internal/text"
)

// pruning are the flags of plumb runs --prune.
type pruning struct {
	on, yes bool
	age     setting.Milliseconds
	keep    int
	flags   *pflag.FlagSet
}

func (p *pruning) register(fs *pflag.FlagSet) {
	const latest = 20
	p.age = setting.Milliseconds((30 * 24 * time.Hour).Milliseconds())
	fs.BoolVar(&p.on, "prune", false, "list the runs that can be deleted; with --yes, delete them")
	fs.Var(&p.age, "older-than", "with --prune: `age` of the last write above which a run is deleted")
	numberVar(fs, &p.keep, "keep", "", latest, "with --prune: keep the latest `n` runs, however old they are")
	fs.BoolVar(&p.yes, "yes", false, "with --prune: delete the listed runs")
	p.flags = fs
}

// unused returns an error for a flag that has no effect without --prune.
func (p *pruning) unused() error {
	for _, name := range []string{"older-than", "keep", "yes"} {
		if p.flags.Changed(name) {
			return plumb.WithHint(fmt.Errorf("--%s has no effect without --prune", name), "plumb runs --prune --"+name)
		}
	}
	return nil
}

// pruneRuns lists the runs that can be deleted, and with --yes deletes them.
func (c *runsCmd) pruneRuns(p *project.Project) error {
	if c.prune.keep < 0 || c.prune.age < 0 {
		return errors.New("--keep and --older-than must not be negative")
	}
	old, err := garbage.OldRuns(p, c.Now().Add(-c.prune.age.Duration()), c.prune.keep)
	if err != nil {
		return err
	}
	old.DryRun = !c.prune.yes
	if c.prune.yes {
		err = old.Delete()
	}
	if c.json {
		return errors.Join(err, c.print(old))
	}
	if len(old.Runs) == 0 {
		fmt.Fprintln(c.Stdout, "no run to delete")
		return err
	}
	deleted := "deleted"
	if old.DryRun {
		deleted = "would delete"
	}
	var bytes int64
	for _, r := range old.Runs {
		bytes += r.Bytes
		fmt.Fprintf(c.Stdout, "%s %s  %s, %s, last written %s\n", deleted, r.ID, orDash(c.line(r.Suite, 40)),
			text.Size(r.Bytes), r.LastWrite.Format(time.DateTime))
	}
	fmt.Fprintf(c.Stdout, "%s %s, %s; kept %d\n", deleted, text.Plural(len(old.Runs), "run"), text.Size(bytes), old.Kept)
	if old.DryRun {
		fmt.Fprintln(c.Stdout, "To delete them, repeat the command with --yes.")
	}
	return err
}
