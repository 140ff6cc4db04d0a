package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/cases"
)

// Manifest describes one suite version: a directory with a suite file for each tier.
type Manifest struct {
	// Path is the manifest file as messages show it.
	Path string `json:"path"`
	// Version names the suite version, such as "v1.0"; Created is its date.
	Version     string `json:"version"`
	Created     string `json:"created,omitempty"`
	Description string `json:"description,omitempty"`
	// Tiers are in the order of the file.
	Tiers []Tier `json:"tiers"`
	// Categories and AssertionTypes are the words that the cases use.
	Categories     []string `json:"categories,omitempty"`
	AssertionTypes []string `json:"assertionTypes,omitempty"`
}

// Tier is one suite file of a version.
type Tier struct {
	// Name is "cheap", "moderate", "comprehensive" or another name.
	Name string `json:"name"`
	// File is the name of the suite file within the directory of the manifest.
	File             string  `json:"file"`
	TestCount        int     `json:"testCount"`
	EstimatedCostUSD float64 `json:"estimatedCostUsd"`
	EstimatedTokens  int64   `json:"estimatedTokens"`
	Description      string  `json:"description,omitempty"`
	// Hash is the pinned suite hash of the tier; "" if the version is not published yet.
	Hash string `json:"hash,omitempty"`
	// Pos is the place of the tier in the manifest.
	Pos plumb.Position `json:"pos"`
	// HashPos is the place of its hash.
	HashPos plumb.Position `json:"-"`
}

// versionDir is a directory with a manifest, on disk or built in.
type versionDir struct {
	fsys fs.FS
	// dir is the directory within fsys, shown is its name for the user, and join joins paths to it.
	dir, shown string
	join       func(...string) string
}

func onDisk(dir, shown string) versionDir {
	return versionDir{os.DirFS(dir), ".", shown, filepath.Join}
}

func builtIn(fsys fs.FS, version string) versionDir {
	return versionDir{fsys, version, version, path.Join}
}

// text reads the manifest.
func (v versionDir) text() ([]byte, error) {
	data, err := doc.ReadFS(v.fsys, path.Join(v.dir, manifestName), doc.ConfigBytes)
	if err != nil {
		return nil, fmt.Errorf("read manifest %s: %w", v.join(v.shown, manifestName), doc.Cause(err))
	}
	return data, nil
}

// manifest reads and parses the manifest. The error is [doc.Problems] if the content is invalid.
func (v versionDir) manifest() (*Manifest, error) {
	data, err := v.text()
	if err != nil {
		return nil, err
	}
	m, problems := parseManifest(v.join(v.shown, manifestName), data)
	return m, problems.Err()
}

// open reads the suite file of a tier, whatever its hash is.
func (v versionDir) open(m *Manifest, t Tier) (*Bundle, error) {
	shown := v.join(v.shown, t.File)
	data, err := doc.ReadFS(v.fsys, path.Join(v.dir, t.File), doc.SuiteBytes)
	if err != nil {
		return nil, fmt.Errorf("read tier %s: %s: %w", t.Name, shown, doc.Cause(err))
	}
	b := NewBundle(m.Version+"-"+t.Name, shown, data)
	b.Version, b.Tier, b.Description = m.Version, t.Name, t.Description
	b.EstimatedCostUSD, b.EstimatedTokens = t.EstimatedCostUSD, t.EstimatedTokens
	return b, nil
}

// read reads the suite file of a tier, which must have the pinned hash.
func (v versionDir) read(ctx context.Context, m *Manifest, t Tier) (*Bundle, error) {
	b, err := v.open(m, t)
	if err != nil || t.Hash == "" {
		return b, err
	}
	if hash, err := b.Hash(ctx); err != nil {
		return nil, immutable(m, t, fmt.Sprintf("the file cannot be hashed: %v", errors.Unwrap(err)))
	} else if hash != t.Hash {
		return nil, immutable(m, t, "the file has "+hash+v.changed(t, b.data))
	}
	return b, nil
}

// immutable is the error of a tier whose file differs from the published one.
func immutable(m *Manifest, t Tier, found string) error {
	return plumb.WithHint(
		fmt.Errorf("tier %s of %s has changed since it was published: %s pins %s, %s", t.Name, m.Version, t.HashPos,
			t.Hash, found),
		"published suite versions are immutable: restore the file, and put new cases into a new version "+
			"(plumb suite new-version); plumb suite diff OLD NEW lists the cases that differ",
	)
}

// manifestReader reads a manifest and collects its problems.
type manifestReader struct {
	file     string
	lines    tomlLines
	problems doc.Problems
}

// parseManifest reads a manifest. The problems are complete unless the TOML itself is invalid.
func parseManifest(file string, data []byte) (*Manifest, doc.Problems) {
	r := &manifestReader{file: file, lines: indexTOML(data)}
	if over := r.lines.over; over != "" {
		line, column := r.lines.place(r.lines.overAt)
		return nil, doc.Problems{{
			Pos: plumb.Position{File: file, Line: line, Column: column}, Message: over,
			Hint: "a manifest has keys such as tiers.cheap.file, and lists of words",
		}}
	}
	var tree map[string]any
	if err := toml.Unmarshal(withoutBOM(data), &tree); err != nil {
		p := doc.Problem{
			Pos:     plumb.Position{File: file, Line: 1, Column: 1},
			Message: "invalid TOML: " + strings.TrimPrefix(err.Error(), "toml: "),
		}
		if e, ok := errors.AsType[*toml.DecodeError](err); ok {
			p.Pos.Line, p.Pos.Column = e.Position()
		}
		return nil, doc.Problems{p}
	}
	m := &Manifest{Path: file}
	r.table(nil, tree, []string{"suite", "tiers", "metadata"}, func(key []string, v any) {
		t, ok := v.(map[string]any)
		if !ok {
			r.add(key, key[0]+" must be a table", "["+key[0]+"]")
			return
		}
		switch key[0] {
		case "suite":
			r.suite(m, t)
		case "tiers":
			r.tiers(m, t)
		case "metadata":
			r.table(key, t, []string{"categories", "assertion_types"}, func(key []string, v any) {
				list := r.words(key, v)
				if key[1] == "categories" {
					m.Categories = list
				} else {
					m.AssertionTypes = list
				}
			})
		}
	})
	for _, name := range []string{"suite", "tiers"} {
		if _, ok := tree[name]; !ok {
			r.add(nil, "["+name+"] is missing", "")
		}
	}
	return m, r.problems.Sorted()
}

func (r *manifestReader) suite(m *Manifest, t map[string]any) {
	r.table([]string{"suite"}, t, []string{"version", "created", "description"}, func(key []string, v any) {
		switch key[1] {
		case "version":
			m.Version = r.text(key, v)
			if why := cases.UnsafeID(m.Version); why != "" && m.Version != "" {
				r.add(key, "version "+strconv.Quote(m.Version)+" "+why, "")
			}
		case "created":
			m.Created = r.date(key, v)
		case "description":
			m.Description = r.text(key, v)
		}
	})
	if m.Version == "" {
		r.add([]string{"suite"}, "suite.version is missing", `such as version = "v1.0"`)
	}
}

func (r *manifestReader) tiers(m *Manifest, tiers map[string]any) {
	files := map[string]string{}
	for _, e := range r.lines.entries {
		key := e.key
		if len(key) < 2 || key[0] != "tiers" ||
			slices.ContainsFunc(m.Tiers, func(t Tier) bool { return t.Name == key[1] }) {
			continue
		}
		at := key[:2:2]
		fields, ok := tiers[key[1]].(map[string]any)
		if !ok {
			r.add(at, "tiers."+key[1]+" must be a table", "[tiers."+key[1]+"]")
			continue
		}
		if why := cases.UnsafeID(key[1]); why != "" {
			r.add(at, "tier "+strconv.Quote(key[1])+" "+why, "")
		}
		t := r.tier(key[1], fields)
		if other := files[strings.ToLower(t.File)]; other != "" {
			r.add(append(at, "file"), fmt.Sprintf("file %q is also that of tier %s", t.File, other), "")
		} else if t.File != "" {
			files[strings.ToLower(t.File)] = t.Name
		}
		m.Tiers = append(m.Tiers, t)
	}
	if len(m.Tiers) == 0 {
		r.add([]string{"tiers"}, "there are no tiers", "such as [tiers.cheap]")
	}
}

func tierKeys() []string {
	return []string{"file", "test_count", "estimated_cost_usd", "estimated_tokens", "description", "hash"}
}

func (r *manifestReader) tier(name string, fields map[string]any) Tier {
	at := []string{"tiers", name}
	t := Tier{Name: name, Pos: r.position(at)}
	r.table(at, fields, tierKeys(), func(key []string, v any) {
		switch key[2] {
		case "file":
			t.File = r.text(key, v)
			if t.File != "" && (!filepath.IsLocal(t.File) || t.File == "." || strings.ContainsAny(t.File, `/\:`)) {
				r.add(key, fmt.Sprintf("file %q must be the name of a file beside the manifest", t.File), "")
			}
		case "test_count":
			t.TestCount = int(r.count(key, v))
		case "estimated_cost_usd":
			t.EstimatedCostUSD = r.amount(key, v)
		case "estimated_tokens":
			t.EstimatedTokens = r.count(key, v)
		case "description":
			t.Description = r.text(key, v)
		case "hash":
			t.Hash, t.HashPos = r.text(key, v), r.position(key)
			if !isHash(t.Hash) {
				r.add(key, fmt.Sprintf("hash %q is not sha256: and 64 lower-case hex digits", t.Hash),
					"plumb suite lock writes it")
			}
		}
	})
	if _, ok := fields["file"]; !ok {
		r.add(at, "tiers."+name+".file is missing", "")
	}
	return t
}

// isHash reports whether s has the form of a suite hash.
func isHash(s string) bool {
	hex, ok := strings.CutPrefix(s, "sha256:")
	return ok && len(hex) == 64 && strings.Trim(hex, "0123456789abcdef") == ""
}

// table calls f for the known members of a table, in the order of known, and reports the others.
func (r *manifestReader) table(at []string, t map[string]any, known []string, f func(key []string, v any)) {
	for name := range t {
		if !slices.Contains(known, name) {
			key := append(slices.Clone(at), name)
			r.add(key, fmt.Sprintf("unknown key %q", strings.Join(key, ".")), doc.DidYouMean(name, known))
		}
	}
	for _, name := range known {
		if v, ok := t[name]; ok {
			f(append(slices.Clone(at), name), v)
		}
	}
}

func (r *manifestReader) add(key []string, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.position(key), Message: message, Hint: hint})
}

func (r *manifestReader) position(key []string) plumb.Position {
	line, column := r.lines.find(key)
	return plumb.Position{File: r.file, Line: line, Column: column}
}

func (r *manifestReader) wrong(key []string, want string, v any) {
	r.add(key, fmt.Sprintf("%s must be %s, not %s", strings.Join(key, "."), want, tomlKind(v)), "")
}

func (r *manifestReader) text(key []string, v any) string {
	s, ok := v.(string)
	if !ok {
		r.wrong(key, "a string", v)
	}
	return s
}

// date accepts a TOML date as well as a string.
func (r *manifestReader) date(key []string, v any) string {
	switch d := v.(type) {
	case time.Time:
		return d.Format(time.DateOnly)
	case toml.LocalDateTime:
		return d.LocalDate.String()
	case toml.LocalDate:
		return d.String()
	}
	return r.text(key, v)
}

func (r *manifestReader) count(key []string, v any) int64 {
	n, ok := v.(int64)
	switch {
	case !ok:
		r.wrong(key, "a whole number", v)
	case n < 0 || n > math.MaxInt32:
		r.add(key, fmt.Sprintf("%s must be from 0 to %d, not %d", strings.Join(key, "."), math.MaxInt32, n), "")
		return 0
	}
	return n
}

func (r *manifestReader) amount(key []string, v any) float64 {
	f, ok := v.(float64)
	if n, whole := v.(int64); whole {
		f, ok = float64(n), true
	}
	switch {
	case !ok:
		r.wrong(key, "a number", v)
	case f < 0 || math.IsNaN(f) || math.IsInf(f, 0):
		r.add(key, strings.Join(key, ".")+" must be a finite number of at least 0", "")
		return 0
	}
	return f
}

func (r *manifestReader) words(key []string, v any) []string {
	list, ok := v.([]any)
	if !ok {
		r.wrong(key, "a list of strings", v)
		return nil
	}
	words := make([]string, 0, len(list))
	for _, e := range list {
		s, ok := e.(string)
		if !ok {
			r.wrong(key, "a list of strings", v)
			return nil
		}
		words = append(words, s)
	}
	return words
}

func tomlKind(v any) string {
	switch v := v.(type) {
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return fmt.Sprint(v)
	case map[string]any:
		return "a table"
	case []any:
		return "a list"
	default:
		return "a date"
	}
}
