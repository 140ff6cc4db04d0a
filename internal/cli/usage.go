package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb"
)

// kindly makes root and the commands below it say what is wrong with a command line, and what was probably meant.
func kindly(root *cobra.Command) {
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
	explainArguments(root)
}

// help is the command of that name. Unlike cobra's own it fails where there is nothing to explain.
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
			if err := emptyFlag(cmd); err != nil {
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
			return plumb.WithHint(fmt.Errorf("%s: an argument is missing", below(cmd)), cmd.UseLine())
		}
	}
	for _, sub := range cmd.Commands() {
		explainArguments(sub)
	}
}

// emptyFlag finds a flag that was given nothing, as by a variable that is not set. To leave it out would do something else.
func emptyFlag(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *flag) {
		empty := f.Value.Type() == "string" && f.Value.String() == ""
		if all, ok := f.Value.(pflag.SliceValue); ok {
			empty = slices.Contains(all.GetSlice(), "")
		}
		if empty {
			err = plumb.WithHint(fmt.Errorf("--%s is given an empty value", f.Name), "a variable that is not set, perhaps? Leave the flag out, or give it a value")
		}
	})
	return err
}

// below names a command without the program.
func below(cmd *cobra.Command) string {
	return strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" ")
}

func unknownCommand(cmd *cobra.Command, name string) error {
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			known = append(known, sub.Name())
		}
	}
	hint := cmd.CommandPath() + " --help lists the commands"
	if near := plumb.Nearest(name, known); near != "" {
		hint = "did you mean " + cmd.CommandPath() + " " + near + "?"
	}
	return plumb.WithHint(fmt.Errorf("unknown command %q for %s", name, cmd.CommandPath()), hint)
}

// flagError says what is wrong with a flag, and suggests the flag that was probably meant.
func flagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); len(args) > 0 && cmd.HasSubCommands() {
		return unknownCommand(cmd, args[0]) // whose flags cmd does not know
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
	var wanted string
	switch f := err.GetFlag(); f.Value.Type() {
	case "int", "int64":
		wanted = "a whole number is needed"
	case "float64":
		wanted = "a number is needed"
	case "duration":
		wanted = "a duration such as 90s, 10m or 1h30m is needed"
	case "bool":
		wanted = "true or false is needed"
	default:
		return fmt.Errorf("--%s: %w", f.Name, err.Unwrap())
	}
	return fmt.Errorf("--%s %q: %s", err.GetFlag().Name, err.GetValue(), wanted)
}

// plural is a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// list is s, but never nil, so that it is [] in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
