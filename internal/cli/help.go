package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/check"
	"github.com/plumb-eval/plumb/schema"
)

// helpCommand is plumb help: of a command, of the types of checks, and of the keys of the config.
func helpCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "help [command]", Short: "Help about any command, the types of checks, and the keys of the config",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			found, _, err := cmd.Root().Find(args)
			if err != nil || found == nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var names []string
			for _, sub := range found.Commands() {
				if sub.IsAvailableCommand() {
					names = append(names, sub.Name()+"\t"+sub.Short)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err != nil || found == nil || len(rest) > 0 {
				return plumb.WithHint(fmt.Errorf("there is no command %q", strings.Join(args, " ")),
					"plumb --help lists the commands")
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
	c.AddCommand(&cobra.Command{
		Use: "checks [TYPE]", Short: "List the types of checks, or the keys of one", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, k := range check.Kinds() {
				names = append(names, k.Name+"\t"+k.Doc)
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.helpChecks(args) },
	}, &cobra.Command{
		Use: "config [KEY]", Short: "List the keys of the config, or those that match", Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			keys, err := configKeys()
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			names := make([]string, len(keys))
			for i, k := range keys {
				names[i] = k.Path + "\t" + k.Doc
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.helpConfig(args) },
	})
	return c
}

// describedKind is a kind in JSON.
type describedKind struct {
	Type string         `json:"type"`
	Doc  string         `json:"passesIf"`
	Keys []describedKey `json:"keys"`
}

type describedKey struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Values   []string `json:"values,omitempty"`
	Required bool     `json:"required,omitempty"`
	Default  string   `json:"default,omitempty"`
	Doc      string   `json:"doc"`
}

func describeKind(k *check.Kind) describedKind {
	d := describedKind{Type: k.Name, Doc: k.Doc}
	for _, key := range append(slices.Clone(k.Keys), check.CommonKeys()[1:]...) {
		d.Keys = append(d.Keys, describedKey{
			Name: key.Name, Type: key.Type, Values: key.Enum, Required: key.Required,
			Default: strings.ReplaceAll(key.Default, "`", ""), Doc: strings.ReplaceAll(key.Doc, "`", ""),
		})
	}
	return d
}

func (a *app) helpChecks(args []string) error {
	kinds := check.Kinds()
	if len(args) == 0 {
		if a.json {
			all := make([]describedKind, len(kinds))
			for i := range kinds {
				all[i] = describeKind(&kinds[i])
			}
			return a.print(all)
		}
		rows := make([][2]string, len(kinds))
		for i, k := range kinds {
			rows[i] = [2]string{k.Name, strings.ReplaceAll(k.Doc, "`", "")}
		}
		_, err := fmt.Fprintf(a.Stdout, "A check passes if:\n\n%s\nplumb help checks TYPE lists the keys of a type.\n", aligned(rows))
		return err
	}
	i := slices.IndexFunc(kinds, func(k check.Kind) bool { return k.Name == args[0] })
	if i < 0 {
		return plumb.WithHint(fmt.Errorf("unknown assertion type %q", args[0]), check.TypeHint(args[0]))
	}
	d := describeKind(&kinds[i])
	if a.json {
		return a.print(d)
	}
	var rows [][2]string
	for _, key := range d.Keys {
		kind := key.Type
		if len(key.Values) > 0 {
			kind = strings.Join(key.Values, ", ")
		}
		doc := key.Doc + " (" + kind
		switch {
		case key.Required:
			doc += "; required"
		case key.Default != "":
			doc += "; default " + key.Default
		}
		rows = append(rows, [2]string{key.Name, doc + ")"})
	}
	_, err := fmt.Fprintf(a.Stdout, "%s passes if %s.\n\nKeys:\n\n%s", d.Type,
		strings.ReplaceAll(d.Doc, "`", ""), aligned(rows))
	return err
}

// aligned returns rows of two columns.
func aligned(rows [][2]string) string {
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	for _, row := range rows {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, row[0], row[1])
	}
	return b.String()
}

// configKey is a key of the config, with its path from the top. A name that the user chooses is
// NAME in the path.
type configKey struct {
	Path string `json:"key"`
	Type string `json:"type,omitempty"`
	Doc  string `json:"doc"`
}

// schemaNode is the part of a JSON Schema that describes keys.
type schemaNode struct {
	Ref         string                `json:"$ref"`
	Type        any                   `json:"type"`
	Enum        []any                 `json:"enum"`
	Description string                `json:"description"`
	Properties  map[string]schemaNode `json:"properties"`
	Additional  json.RawMessage       `json:"additionalProperties"`
	Items       *schemaNode           `json:"items"`
	AnyOf       []schemaNode          `json:"anyOf"`
	Defs        map[string]schemaNode `json:"$defs"`
}

// configKeys returns the keys of the config, from its schema.
func configKeys() ([]configKey, error) {
	var root schemaNode
	if err := json.Unmarshal([]byte(schema.Config()), &root); err != nil {
		return nil, fmt.Errorf("read the schema of the config: %w", err)
	}
	var keys []configKey
	var walk func(path string, n schemaNode, depth int)
	walk = func(path string, n schemaNode, depth int) {
		const most = 8
		if depth > most {
			return
		}
		if n = root.resolve(n); n.Additional != nil {
			var child schemaNode
			if json.Unmarshal(n.Additional, &child) == nil {
				walk(path+".NAME", child, depth+1)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
			child := n.Properties[name]
			at := strings.TrimPrefix(path+"."+name, ".")
			resolved := root.resolve(child)
			keys = append(keys, configKey{at, resolved.kind(), resolved.Description})
			walk(at, child, depth+1)
		}
		for _, child := range n.AnyOf {
			walk(path, child, depth+1)
		}
	}
	walk("", root, 0)
	return keys, nil
}

// resolve follows references. A description beside a reference counts.
func (n *schemaNode) resolve(of schemaNode) schemaNode {
	for range 8 {
		path, ok := strings.CutPrefix(of.Ref, "#/$defs/")
		if !ok {
			break
		}
		parts := strings.Split(path, "/")
		to := n.Defs[parts[0]]
		for i := 2; i < len(parts); i += 2 { // name/properties/name
			to = to.Properties[parts[i]]
		}
		if of.Description != "" {
			to.Description = of.Description
		}
		of = to
	}
	return of
}

func (n *schemaNode) kind() string {
	if len(n.Enum) > 0 {
		words := make([]string, len(n.Enum))
		for i, v := range n.Enum {
			words[i] = fmt.Sprint(v)
		}
		return strings.Join(words, ", ")
	}
	switch t := n.Type.(type) {
	case string:
		return t
	case []any:
		return strings.Trim(fmt.Sprint(t...), "[]")
	}
	return ""
}

// helpConfig lists the keys of the config whose path is, ends with, or begins with the argument.
func (a *app) helpConfig(args []string) error {
	keys, err := configKeys()
	if err != nil {
		return err
	}
	if len(args) > 0 {
		want, names := strings.Trim(args[0], "."), map[string]bool{}
		all := keys
		keys = slices.DeleteFunc(slices.Clone(all), func(k configKey) bool {
			for part := range strings.SplitSeq(k.Path, ".") {
				names[part] = true
			}
			return !strings.Contains("."+k.Path+".", "."+want+".")
		})
		if len(keys) == 0 {
			keys = slices.DeleteFunc(slices.Clone(all), func(k configKey) bool {
				return !strings.Contains(strings.ToLower(k.Path), strings.ToLower(want))
			})
		}
		if len(keys) == 0 {
			hint := "plumb help config lists all keys"
			if near := plumb.Nearest(want, slices.Sorted(maps.Keys(names))); near != "" {
				hint = fmt.Sprintf("did you mean %q?", near)
			}
			return plumb.WithHint(fmt.Errorf("the config has no key %q", args[0]), hint)
		}
	}
	if a.json {
		return a.print(keys)
	}
	rows := make([][2]string, len(keys))
	for i, k := range keys {
		rows[i] = [2]string{k.Path, k.Doc}
		if k.Type != "" && k.Type != "object" {
			rows[i][1] += " (" + k.Type + ")"
		}
	}
	_, err = fmt.Fprint(a.Stdout, aligned(rows))
	return err
}
