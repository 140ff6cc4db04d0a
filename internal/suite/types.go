package suite

import _ "embed" // the types

// Types returns the type declarations of the modules that suites and configs in code import, for
// editors and tsc.
func Types() string { return types }

//go:embed plumb.d.ts
var types string
