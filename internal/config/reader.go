package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/setting"
)

// reader reads a config, or the sections of a suite that have the form of a config.
type reader struct {
	setting.Reader
	// dir is the directory at which relative paths start.
	dir string
	// absent are the files and directories that do not exist. They are problems only beside others,
	// because commands that run nothing do not need them.
	absent doc.Problems
}

// value is a value of a config.
type value = doc.Value

// newReader returns a reader of the config in file, whose relative paths start at dir.
func newReader(file, dir string) *reader {
	r := &reader{dir: dir}
	r.File, r.Elsewhere = file, r.elsewhere
	return r
}

// newSuiteReader returns a reader of the sections of a suite.
func newSuiteReader(file, dir string) *reader {
	r := &reader{dir: dir}
	r.File = file
	return r
}

// elsewhere returns a hint for an unknown key that belongs in another section.
func (r *reader) elsewhere(path, key string, fields []setting.Field) string {
	run := setting.Names(r.runFields(&Settings{}))
	switch {
	case path == "" && plumb.Nearest(key, run) != "" && !slices.Contains(run, key):
		return fmt.Sprintf("did you mean %q?", "run."+plumb.Nearest(key, run))
	case strings.HasPrefix(path, "runners.") && setting.Known(fields, "agent") &&
		setting.Known(r.agentFields(&plumb.AgentConfig{}), key):
		return "it belongs in agent"
	case path != "run" && setting.Known(r.runFields(&Settings{}), key):
		return "it belongs in run"
	case path != "" && setting.Known(r.topFields(&Config{}), key):
		return "it belongs at the top level"
	}
	return ""
}

// all returns the problems of a document. A path that does not exist is one beside others.
func (r *reader) all() doc.Problems {
	if r.Problems.Err() == nil {
		return r.Problems
	}
	return append(r.Problems, r.absent...)
}
