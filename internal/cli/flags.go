package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/run"
	"github.com/plumb-eval/plumb/internal/setting"
)

type flag = pflag.Flag

// settings are the settings of a command that performs runs. Their flags come from
// [config.Settings.List].
type settings struct{ want config.Settings }

func newSettings() settings { return settings{config.Defaults()} }

// projectFlags returns the flags that find the project.
func (f *settings) projectFlags() projectFlags { return projectFlags{f.want.Config, f.want.OutputDir} }

// words is a repeatable flag. A value may hold several words, separated by commas.
type words []string

func (w *words) String() string { return strings.Join(*w, ",") }
func (w *words) Type() string   { return "strings" }

func (w *words) Set(s string) error {
	for word := range strings.SplitSeq(s, ",") {
		if word = strings.TrimSpace(word); word == "" {
			return fmt.Errorf("%q contains an empty value; separate non-empty values by commas", s)
		}
		*w = append(*w, word)
	}
	return nil
}

// trustHelp is the help of --trust, which several commands have.
const trustHelp = "start what the run names, although it was not made in this project"

// register adds the flags of the settings for which help returns a text.
func (f *settings) register(cmd *cobra.Command, help func(*setting.Setting) string) {
	fs := cmd.Flags()
	for _, s := range f.want.List() {
		usage := help(&s)
		if s.Flag == "" || usage == "" {
			continue
		}
		switch at := s.At.(type) {
		case *bool:
			fs.BoolVarP(at, s.Flag, s.Short, *at, usage)
		case *int:
			numberVar(fs, at, s.Flag, s.Short, *at, usage)
		case *int64:
			numberVar(fs, at, s.Flag, s.Short, *at, usage)
		case *float64:
			numberVar(fs, at, s.Flag, s.Short, *at, usage)
		case *string:
			fs.StringVarP(at, s.Flag, s.Short, *at, usage)
		case *[]string:
			if usage += "; repeatable"; s.Commas {
				fs.VarP((*words)(at), s.Flag, s.Short, usage)
			} else {
				fs.StringArrayVarP(at, s.Flag, s.Short, nil, usage)
			}
		case pflag.Value:
			fs.VarP(at, s.Flag, s.Short, usage)
		default:
			panic("no flag can have the type of " + s.Flag)
		}
		fs.Lookup(s.Flag).NoOptDefVal = cmp.Or(fs.Lookup(s.Flag).NoOptDefVal, s.Bare)
		for _, alias := range s.OtherFlags {
			fs.Var(fs.Lookup(s.Flag).Value, alias, "same as --"+s.Flag)
			fs.Lookup(alias).Hidden = true
		}
		if known := slices.Concat(s.Values, s.Known); known != nil {
			complete := cobra.FixedCompletions(known, cobra.ShellCompDirectiveNoFileComp)
			if err := cmd.RegisterFlagCompletionFunc(s.Flag, complete); err != nil {
				panic(err) // the flag is not defined above
			}
		}
	}
}

// groupedUsage prints the usage of a command with all settings, and their flags in groups.
func groupedUsage(cmd *cobra.Command) error {
	titles := map[string]string{"help": "Help"} // by the first flag of the group
	for _, g := range new(config.Settings).Groups() {
		titles[g.Settings[0].Flag] = g.Title
	}
	out := cmd.OutOrStderr()
	var usage strings.Builder
	cmd.SetOut(&usage)
	err := cmd.Root().UsageFunc()(cmd)
	cmd.SetOut(out)
	before, flags, _ := strings.Cut(usage.String(), "\nFlags:\n")
	fmt.Fprint(out, before)
	for line := range strings.Lines(flags) {
		const indent = len("  -x, ") // a continuation has a larger one
		name, isFlag := strings.CutPrefix(line[min(indent, len(line)):], "--")
		if name, _, _ = strings.Cut(name, " "); !isFlag {
			name = ""
		}
		if title := titles[name]; title != "" {
			fmt.Fprintf(out, "\n%s:\n", title)
		}
		fmt.Fprint(out, line)
	}
	return err
}

// changed reports whether the flag of a setting is on the command line, by any of its names.
func changed(fs *pflag.FlagSet, s *setting.Setting) bool {
	return fs.Changed(s.Flag) || slices.ContainsFunc(s.OtherFlags, fs.Changed)
}

// check checks the flags on the command line. With resumed, they change a run that exists.
func (f *settings) check(fs *pflag.FlagSet, resumed bool) error {
	for _, s := range f.want.List() {
		if !changed(fs, &s) {
			continue
		}
		if err := s.Check(resumed); err != nil {
			return err
		}
	}
	return nil
}

// setRecorded sets the settings of a recorded run that are on the command line.
func (f *settings) setRecorded(fs *pflag.FlagSet, recorded *run.Settings) {
	all := config.Settings{Settings: *recorded}
	all.Copy(&f.want, func(s *setting.Setting) bool { return changed(fs, s) })
	*recorded = all.Settings
}

// checkWord returns an error with the nearest known word if word is not one of them.
func checkWord(what, word string, known []string) error {
	if slices.Contains(known, word) {
		return nil
	}
	return unknownWord(what, word, known)
}

func unknownWord(what, word string, known []string) error {
	return plumb.WithHint(fmt.Errorf("unknown %s %q", what, word), setting.DidYouMean(word, known))
}
