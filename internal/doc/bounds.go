package doc

// The limits of the documents that Plumb parses. A hostile document causes an error and never uses
// up the memory of the machine. docs/configuration.md lists the limits for users.
const (
	// ConfigBytes and ConfigValues limit a config file, and the exports of a config in code. An
	// alias in YAML counts as the value of its anchor.
	ConfigBytes  = 256 << 10
	ConfigValues = 100_000
	// ManifestKeys and ManifestParts limit a manifest.toml of at most ConfigBytes: the number of
	// its keys and tables, and the parts of one key and the nesting of lists and tables.
	ManifestKeys  = 10_000
	ManifestParts = 8
	// EnvBytes limits a .env file, and EnvExpanded its values after variables are expanded.
	EnvBytes    = 64 << 10
	EnvExpanded = 1 << 20
	// maxDepth is the maximum nesting of lists and mappings in any document except a manifest.
	maxDepth = 100

	// SuiteBytes limits a suite file. In JSON lines, CaseBytes and CaseValues limit each case.
	SuiteBytes = 1 << 30
	CaseBytes  = 16 << 20
	CaseValues = 100_000
	// YAMLBytes and YAMLValues limit a suite in YAML, whose parser needs about a kilobyte per
	// value.
	YAMLBytes  = 32 << 20
	YAMLValues = 500_000
	// DataBytes limits a prompt file and a data file of a suite.
	DataBytes = 64 << 20

	// SourceBytes limits a file that code imports.
	SourceBytes = 64 << 20

	// StateBytes limits the files that Plumb writes for itself: run.json, bundle.json, snapshots,
	// questions and answers.
	StateBytes = 64 << 20
	// LineBytes limits a line of a run log, whose first lines list all cases. SessionBytes limits a
	// session in a file of its own.
	LineBytes    = 1 << 30
	SessionBytes = 1 << 30
)
