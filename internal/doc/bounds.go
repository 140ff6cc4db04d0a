package doc

// The most that the documents may hold which Plumb parses: a hostile one must end in an error,
// never in all of the machine's memory. docs/configuration.md tells users of them.
const (
	// ConfigBytes and ConfigValues bound a config file, and what a config in code exports. Aliases
	// in YAML count as what they stand for.
	ConfigBytes  = 256 << 10
	ConfigValues = 100_000
	// ManifestKeys and ManifestParts bound a manifest.toml, which may have ConfigBytes: its keys and
	// tables, and the parts of one key and the lists and tables within one another.
	ManifestKeys  = 10_000
	ManifestParts = 8
	// EnvBytes bounds a .env file, EnvExpanded the values in it once the variables in them are
	// filled in.
	EnvBytes    = 64 << 10
	EnvExpanded = 1 << 20
	// Depth is how deep lists and mappings may stand within one another, in any document but a
	// manifest.
	Depth = 100

	// SuiteBytes bounds a suite file; of JSON lines, each case has its own bounds: CaseBytes and
	// CaseValues.
	SuiteBytes = 1 << 30
	CaseBytes  = 16 << 20
	CaseValues = 100_000
	// YAMLBytes and YAMLValues bound a suite in YAML, whose parser takes about a kilobyte for each
	// value.
	YAMLBytes  = 32 << 20
	YAMLValues = 500_000

	// SourceBytes bounds a file that code imports.
	SourceBytes = 64 << 20

	// StateBytes bounds what Plumb writes for itself: run.json, bundle.json, snapshots, questions
	// and answers.
	StateBytes = 64 << 20
	// LineBytes bounds a line of a run log, the first of which lists all cases, and SessionBytes a
	// session beside it.
	LineBytes    = 1 << 30
	SessionBytes = 1 << 30
)
