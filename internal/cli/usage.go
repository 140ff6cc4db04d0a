package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/setting"
)

// improveErrors adds the reason and a suggestion to the errors of cobra about the command line.
func improveErrors(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, help
		case "completion":
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), "Flags.FlagUsages", "Flags.FlagUsagesWrapped 80"))
	explainArguments(root)
}

// help is plumb help. Unlike the one of cobra, it fails for an unknown command.
func help(cmd *cobra.Command, args []string) error {
	found, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return unknownCommand(found, rest[0])
	}
	found.InitDefaultHelpFlag()
	return found.Help()
}

func explainArguments(cmd *cobra.Command) {
	accept := cmd.Args
	if accept == nil && !cmd.HasSubCommands() {
		accept = cobra.ArbitraryArgs
	}
	if accept != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := errors.Join(emptyFlag(cmd), emptyArgument(cmd, args)); err != nil {
				return err
			}
			if accept(cmd, args) == nil {
				return nil
			}
			if cmd.HasSubCommands() && len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			for i := range args {
				if accept(cmd, args[:i+1]) != nil && (i > 0 || accept(cmd, nil) == nil) {
					return plumb.WithHint(fmt.Errorf("%s: unexpected argument %q", below(cmd), args[i]), cmd.UseLine())
				}
			}
			return plumb.WithHint(fmt.Errorf("%s: missing argument", below(cmd)), cmd.UseLine())
		}
	}
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

// emptyFlag returns an error for a flag with an empty value, for example from an unset variable. To
// ignore the flag would change the meaning of the command line.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *flag) {
		values := []string{f.Value.String()}
		if all, ok := f.Value.(pflag.SliceValue); ok {
			values = all.GetSlice()
		}
		empty := slices.ContainsFunc(values, func(s string) bool { return strings.TrimSpace(s) == "" })
		if empty {
			err = plumb.WithHint(fmt.Errorf("--%s has an empty value", f.Name),
				"check that a variable is set; remove the flag, or give it a value")
		}
	})
	return err
}

// emptyArgument returns an error for an empty argument, which is never the same as none. The
// arguments of a script, after its name, can be empty.
func emptyArgument(cmd *cobra.Command, args []string) error {
	if cmd.Name() == "exec" {
		args = args[:min(len(args), 1)]
	}
	for i, arg := range args {
		if strings.TrimSpace(arg) == "" {
			return plumb.WithHint(fmt.Errorf("%s: argument %d is empty", below(cmd), i+1),
				"check that a variable is set; "+cmd.UseLine())
		}
	}
	return nil
}

// below returns the name of a command without the program.
func below(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

// otherTools are the commands of other tools, and what does the same here.
func otherTools() map[string]string {
	const runHint, showHint = "plumb run runs a suite", "plumb show RUN shows a run; plumb report RUN --report html makes a page"
	return map[string]string{
		"eval": runHint, "test": runHint, "exec": runHint, "check": runHint, "view": showHint, "open": showHint,
		"diff": "plumb compare A B compares two runs", "history": "plumb runs lists the runs", "ls": "plumb runs lists the runs",
		"retry": "plumb resume --retry-errors RUN runs the unmeasured cases again",
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			known = append(known, sub.Name())
		}
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if own, ok := otherTools()[name]; ok && cmd == cmd.Root() {
		hint = own
	} else if near := plumb.Nearest(name, known); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return plumb.WithHint(fmt.Errorf("unknown command %q for %s", name, cmd.CommandPath()), hint)
}

// flagError adds the nearest known flag to an error about a flag.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0]) // the flag belongs to the unknown command
	}
	hint := cmd.CommandPath() + " --help"
	if value, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return plumb.WithHint(invalidValue(value), hint)
	}
	if _, name, ok := strings.Cut(err.Error(), "unknown flag: --"); ok {
		var known []string
		cmd.Flags().VisitAll(func(f *flag) { known = append(known, f.Name) })
		if near := plumb.Nearest(name, known); near != "" {
			hint = "did you mean --" + near + "? See " + hint
		}
	}
	return plumb.WithHint(err, hint)
}

func invalidValue(err *pflag.InvalidValueError) error {
	f := err.GetFlag()
	if errors.Is(err, setting.ErrTooShort) {
		return fmt.Errorf("--%s %w", f.Name, setting.ErrTooShort)
	}
	var expected string
	switch f.Value.Type() {
	case "int", "int64":
		expected = "a whole number"
	case "float64":
		expected = "a number"
	case "duration":
		expected = "a duration such as 90s, 10m, 1h30m or 30d"
	case "bool":
		expected = "true or false"
	default:
		return fmt.Errorf("--%s: %w", f.Name, err.Unwrap())
	}
	return fmt.Errorf("--%s %q is not %s", f.Name, err.GetValue(), expected)
}
