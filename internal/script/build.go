package script

// BuildOptions say what to bundle.
type BuildOptions struct {
	// Entry is the absolute path of a .ts, .mts, .cts, .js, .mjs or .cjs file.
	Entry string
	// Modules are the names of the additional modules that imports may name; see Options.Modules.
	Modules map[string]bool
	// Preload are additional modules that the bundle imports before the entry, whether or not that imports them: those
	// that register the functions VM.Call calls. (Asked for by internal/load; each becomes an import in the text around the
	// entry.)
	Preload []string
	// Allow, if set, decides whether a file may be read; an error says why not.
	Allow func(path string) error
}

// Build bundles a module with all it imports. The error is a [*BuildError] that holds everything found wrong with the
// sources.
func Build(o BuildOptions) (*Program, error) { panic("not yet") }
