// Package lib holds the modules that suites and configs in code import from Plumb: their TypeScript
// sources in src, and the bytecode made of them. It runs files that import them, with the engine of
// package script. PROTOCOL.md is the contract between these modules and Go.
package lib

import (
	_ "embed" // the modules
)

// The modules are kept as the engine's bytecode, which starts in half the time. It loads only in
// the version of the engine that made it; a test makes it again and compares.
//
//go:generate env UPDATE=1 go test -run ^TestModulesAreFresh$ .

// entryName is the name of the module with what Go calls. Each VM must evaluate it before the
// suite.
const entryName = "plumb/entry"

var (
	//go:embed modules/plumb.bin
	plumbModule string
	//go:embed modules/entry.bin
	entryModule string
)

// Modules returns the modules by name, as package script takes them.
func Modules() map[string]string {
	const testing = `module.exports=require("plumb")[Symbol.for("plumb.internal")].testing`
	return map[string]string{
		"plumb":            plumbModule,
		"skillgym":         `module.exports=require("plumb")`,
		"plumb/testing":    testing,
		"skillgym/testing": testing,
		entryName:          entryModule,
		checkName:          checkModule,
	}
}
