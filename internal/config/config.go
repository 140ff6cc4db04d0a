// Package config reads a project's config file, plumb.yaml or plumb.config.ts, and its .env file.
//
// The reading is strict: unknown keys are errors. It reports all problems of a file at once, each
// with its place and, if possible, with a hint.
package config

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/runner"
	"github.com/plumb-eval/plumb/internal/snapshot"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
)

// Config is the content of a config file. The zero value of a field means that the file does not
// set it.
type Config struct {
	// Path is the file, and Dir its directory, at which relative paths in the file start.
	Path, Dir string
	// Suites are the suites to run if the command line names none.
	Suites []string
	// Runners are in the order of the file. Each has an ID, and one of Model, Command, Replay and
	// Agent. The paths of agents are absolute.
	Runners []plumb.RunnerConfig
	// Judge is a runner of the config, or another runner. JudgeVotes is the number of answers to
	// each question; 0 leaves it to the suite.
	Judge      *plumb.RunnerConfig
	JudgeVotes int
	// Embedder has a model, and may have an address and the variable with the key.
	Embedder *plumb.RunnerConfig
	// Prices are by "provider:model". They replace those of the built-in table.
	Prices map[string]runner.Price
	// Run holds the keys of run. Its paths are absolute.
	Run Settings
	// Server is where submissions go.
	Server Server
	// Snapshots describe the token baselines, with an absolute path; nil turns them off.
	Snapshots *snapshot.Settings
	// Warnings are problems that are not errors.
	Warnings []doc.Problem
}

// Server is where submissions go. Project and Share are "" if the config does not choose.
type Server struct {
	URL, Project string
	Share        plumb.Share
}

// Runner returns the runner with the given id, or nil.
func (c *Config) Runner(id string) *plumb.RunnerConfig {
	for i := range c.Runners {
		if c.Runners[i].ID == id {
			return &c.Runners[i]
		}
	}
	return nil
}

// Resolve makes a path of the config file absolute.
func (c *Config) Resolve(path string) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(c.Dir, path)
}

// Names returns the names that a config file can have. A directory has at most one config file.
func Names() []string {
	names := []string{"plumb.yaml", "plumb.yml", "plumb.config.json"}
	for _, stem := range []string{"plumb", "skillgym"} {
		for _, ext := range lib.Extensions() {
			names = append(names, stem+".config"+ext)
		}
	}
	return names
}

// Find returns the path of the config file in dir or in the nearest directory above it, or "" if
// there is none. Two config files in one directory are an error that names them.
func Find(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find config: %w", err)
	}
	for {
		var found []string
		for _, name := range Names() {
			path := filepath.Join(abs, name)
			entry, err := os.Lstat(path)
			if err != nil || entry.IsDir() {
				continue
			}
			switch info, err := os.Stat(path); {
			case err != nil: // a broken link must not count as "no config"
				return "", fmt.Errorf("find config: %s: %w", path, doc.Cause(err))
			case !info.IsDir():
				found = append(found, name)
			}
		}
		switch len(found) {
		case 0:
		case 1:
			return filepath.Join(abs, found[0]), nil
		default:
			return "", plumb.WithHint(&severalConfigs{abs, found},
				"a folder has one config file: remove all but one, or name one with --config")
		}
		parent := filepath.Dir(abs)
		if parent == abs {
			return "", nil
		}
		abs = parent
	}
}

// severalConfigs is the error for a directory with more than one config file.
type severalConfigs struct {
	dir   string
	names []string
}

func (e *severalConfigs) Error() string {
	last := len(e.names) - 1
	return fmt.Sprintf("find config: %s has %s and %s", e.dir, strings.Join(e.names[:last], ", "), e.names[last])
}

// FindFor returns the config file that is nearest to a suite: in its directory or above. For a
// suite without one, such as a published suite, it is the nearest one in dir or above. The relative
// path of the suite starts at dir.
func FindFor(suite, dir string) (string, error) {
	full := suite
	if !filepath.IsAbs(full) {
		full = filepath.Join(dir, suite)
	}
	if info, err := os.Stat(full); suite != "" && err == nil {
		if !info.IsDir() {
			full = filepath.Dir(full)
		}
		if found, err := Find(full); found != "" || err != nil {
			return found, err
		}
	}
	return Find(dir)
}

// Read reads a config file in TypeScript, JavaScript, JSON or YAML, by its name. It executes code,
// whose default export, or else the module itself, is the config. If the content of the file is
// invalid, the error is [doc.Problems] with all problems.
func Read(ctx context.Context, path string, h lib.Host) (*Config, error) {
	tree, problems, err := readValue(ctx, path, h)
	if err != nil {
		return nil, err
	}
	var c *Config
	if tree != nil {
		var found doc.Problems
		c, found = fromValue(path, *tree, lib.IsCode(path))
		problems = append(problems, found...).Sorted()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	c.Warnings = problems.Warnings()
	return c, nil
}

// readValue returns the content of a config file with its problems. The content is nil if it cannot be
// read because of them.
func readValue(ctx context.Context, path string, h lib.Host) (*value, doc.Problems, error) {
	if lib.IsCode(path) {
		tree, problems := readExport(ctx, path, h)
		if problems.Err() != nil {
			return nil, problems, nil
		}
		return &tree, problems, nil
	}
	data, err := doc.Read(path, doc.ConfigBytes)
	if err != nil {
		return nil, nil, fmt.Errorf("read config %s: %w", path, doc.Cause(err))
	}
	if name, do, ok := convert.Suggest(path, data); ok {
		return nil, nil, plumb.WithHint(fmt.Errorf("read config %s: this is %s", path, name), do)
	}
	tree, problems, ok := parse(path, data)
	if !ok {
		return nil, problems, nil
	}
	return &tree, problems, nil
}

// parse parses a config in YAML or JSON. ok reports whether there is a value, which can be used in
// spite of the problems.
func parse(file string, data []byte) (v value, problems doc.Problems, ok bool) {
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	switch {
	case len(data) > doc.ConfigBytes:
		return value{}, doc.Problems{{
			Pos: doc.Place{Line: 1, Column: 1}.In(file), Message: tooLarge(len(data)),
		}}, false
	case strings.EqualFold(filepath.Ext(file), ".json"):
		return (&doc.JSON{File: file}).Parse(data, 1)
	default:
		return doc.YAML(file, data, doc.ConfigValues)
	}
}

func tooLarge(size int) string {
	return fmt.Sprintf("the config has %s, more than the limit of %s", text.Size(int64(size)), text.Size(doc.ConfigBytes))
}

// fromValue reads the config of the file at path. With code, the values come from code and have no
// places.
func fromValue(path string, tree value, code bool) (*Config, doc.Problems) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, doc.Problems{{Pos: plumb.Position{File: path}, Message: err.Error()}}
	}
	c := &Config{Path: path, Dir: dir}
	r := newReader(path, dir)
	r.Code = code
	if tree.Kind != doc.Null {
		r.Object(tree, "", r.topFields(c))
	}
	return c, r.all().Sorted()
}
