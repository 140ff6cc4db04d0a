// Package schema holds the JSON Schemas (draft 2020-12) of the files that people write for Plumb,
// for editors and other tools.
package schema

import _ "embed"

// Config returns the schema of plumb.yaml and plumb.config.json. A config in code exports
// the same form.
func Config() string { return config }

// SuiteCase returns the schema of one line of a suite file.
func SuiteCase() string { return suiteCase }

// Suite returns the schema of a suite in YAML. It refers to the other two by their addresses.
func Suite() string { return suite }

// ConfigURL is where the schema of config files is published. Scaffolds point editors there.
const ConfigURL = "https://raw.githubusercontent.com/plumb-eval/plumb/main/schema/plumb.config.schema.json"

// SuiteURL is where the schema of suites in YAML is published.
const SuiteURL = "https://raw.githubusercontent.com/plumb-eval/plumb/main/schema/suite.schema.json"

//go:embed plumb.config.schema.json
var config string

//go:embed suite-case.schema.json
var suiteCase string

//go:embed suite.schema.json
var suite string
