package lib

import (
	_ "embed" // the module

	"github.com/plumb-eval/plumb/internal/script"
)

// checkName is the name of the module that runs the code of checks.
const checkName = "plumb/check"

//go:embed check.js
var checkModule string

// BuildCheck bundles the file of a check at an absolute path with everything that it imports.
func BuildCheck(file string) (*script.Program, error) { return build(file, checkName) }

// Expressions returns the program that runs the expressions of checks.
func Expressions() *script.Program { return script.Load(checkName) }
