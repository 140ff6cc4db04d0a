// Package suites holds the published suites, one directory a suite version: its manifest.toml and one JSONL file a tier.
//
// Published means immutable. A manifest pins the hash of each tier, and package load refuses a tier that has another;
// new cases go into a directory of their own.
package suites

import (
	"embed"
	"io/fs"
)

//go:embed v*
var published embed.FS

// FS returns the published suite versions as they were when Plumb was built, such as v1.0/manifest.toml and
// v1.0/cheap.jsonl.
func FS() fs.FS { return published }
