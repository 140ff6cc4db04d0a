// Package lib holds the modules that suites in code import from Plumb: their TypeScript sources in src, and what is made of
// them. It is data for the engine of package script; PROTOCOL.md says what these modules and package load say to each other.
package lib

import (
	_ "embed" // the modules
)

//go:generate go run generate.go

// Entry is the name of the module with what Go calls. It must be evaluated in each VM before the suite.
const Entry = "plumb/entry"

var (
	//go:embed modules/plumb.js
	plumbModule string
	//go:embed modules/entry.js
	entryModule string
)

// Modules returns the modules by name, in CommonJS form.
func Modules() map[string]string {
	const testing = `module.exports=require("plumb")[Symbol.for("plumb.internal")].testing`
	return map[string]string{
		"plumb":            plumbModule,
		"skillgym":         `module.exports=require("plumb")`,
		"plumb/testing":    testing,
		"skillgym/testing": testing,
		Entry:              entryModule,
	}
}
