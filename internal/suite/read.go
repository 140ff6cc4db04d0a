// Package suite reads suites. It reads a suite file into a [Bundle], makes a suite of a Bundle, and
// reads a manifest.toml into a [Manifest].
//
// A suite is a file of JSON lines, a YAML file, or a module in TypeScript or JavaScript. Package
// cases reads the first two. A module is bundled when it is read and executed when it is loaded;
// its assertions are calls of its functions.
package suite

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
	"github.com/plumb-eval/plumb/internal/config"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/files"
	"github.com/plumb-eval/plumb/internal/script"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/suites"
)

// manifestName is the file that makes a directory a suite version.
const manifestName = "manifest.toml"

// ReadOptions select the suite that [Read] reads. The zero value works.
type ReadOptions struct {
	// Tier selects a tier of a suite version.
	Tier string
	// Dir is the base of relative paths; "" is the working directory.
	Dir string
	// Published has a directory for each published suite version; nil means the built-in versions.
	Published fs.FS
	// Stream leaves a file of JSON lines on disk, so that [Bundle.Validate] needs little memory.
	// The file must not change before the bundle is closed.
	Stream bool
	// Changed reads a tier of a version although it does not have its pinned hash, to compare it.
	Changed bool
}

// Bundle is a self-contained suite: it can run on another machine. It does not contain the files
// that code reads while it runs, and the directories that a suite names.
type Bundle struct {
	Facts

	// data is the suite file. It is nil until it is needed where file names a file of JSON lines.
	data []byte
	file string
	// hash is the suite hash once it is known.
	hash string
	// origin is the absolute path of the suite file, the base of its relative paths; "" if it has
	// none.
	origin string
	// dir is the working directory of a suite in code: the user's when it was read.
	dir string
	// opened is set if [Open] read the bundle. The suite's files may no longer exist then.
	opened bool
	// templates are the hashes of the suite's template directories by path, "" if not computed yet.
	templates map[string]string

	// files are the prompt and data files of a suite in YAML; nil until it is parsed.
	files *included

	// program is the bundled code, broken the reasons why bundling failed. code runs the program.
	program *script.Program
	broken  doc.Problems
	code    *codeSuite

	// checks are the files that checks name, by the name in the suite. checkCode runs the code of
	// checks.
	checks    map[string]*checkFile
	checkCode *checkCode
}

// Facts describe a bundle. Version, Tier, Description and the estimates come from a manifest;
// without one they are zero.
type Facts struct {
	// Name is the label of results: version and tier of a published suite, such as "v1.0-cheap",
	// otherwise the file's name without its extension.
	Name string `json:"name"`
	// Path is the suite file as the user named it.
	Path             string  `json:"path,omitempty"`
	Version          string  `json:"version,omitempty"`
	Tier             string  `json:"tier,omitempty"`
	Description      string  `json:"description,omitempty"`
	EstimatedCostUSD float64 `json:"estimatedCostUsd,omitempty"`
	EstimatedTokens  int64   `json:"estimatedTokens,omitempty"`
}

// Data returns the bytes of the suite file; nil for a bundle that was read with
// [ReadOptions.Stream]. They must not be changed.
func (b *Bundle) Data() []byte { return b.data }

// Code reports whether the suite is a module in TypeScript or JavaScript.
func (b *Bundle) Code() bool { return b.program != nil || b.broken != nil }

// Close stops the suite's code. The suites that were made of the bundle can no longer judge. The
// error has the errors of the code that belong to no session, such as a promise that was rejected
// late; they do not change results.
func (b *Bundle) Close() error {
	b.closeChecks()
	if b.code == nil {
		return nil
	}
	code := b.code
	b.code = nil
	if err := code.module.Close(); err != nil {
		return fmt.Errorf("close suite %s: %w", b.Path, err)
	}
	return nil
}

// Drop frees the memory of the suite's text after the bundle was stored and its cases were read.
// After that the bundle can only be closed. Code keeps running.
func (b *Bundle) Drop() {
	if b.code == nil {
		b.data = nil
	}
}

// Hash returns the suite hash. Package digest defines it for JSON lines. A YAML file has the hash
// of the same cases as JSON lines. For code see codeHash.
func (b *Bundle) Hash(ctx context.Context) (string, error) {
	if b.hash == "" && (b.Code() || cases.IsYAML(b.Path)) {
		if _, problems := b.Validate(ctx, lib.Host{}); len(doc.Problems(problems).Errors()) > 0 || b.hash == "" {
			return "", fmt.Errorf("hash suite %s: %w", b.Path, doc.Problems(problems).Errors())
		}
	}
	if b.hash == "" {
		if err := b.hashWhole(); err != nil {
			return "", fmt.Errorf("hash suite %s: %w", b.Path, err)
		}
	}
	return b.hash, nil
}

// hashWhole computes the hash of a file of JSON lines.
func (b *Bundle) hashWhole() error {
	if err := b.load(); err != nil {
		return err
	}
	hash, err := digest.Suite(b.data)
	b.hash = hash
	return err
}

// load reads the suite file if the bundle does not contain it.
func (b *Bundle) load() (err error) {
	if b.data == nil && b.file != "" {
		if b.data, err = doc.Read(b.file, doc.SuiteBytes); err != nil {
			return doc.Cause(err)
		}
	}
	return nil
}

// stream opens the suite file if the bundle does not contain it; it returns nil for one that does.
func (b *Bundle) stream() (io.ReadCloser, error) {
	if b.data != nil || b.file == "" {
		return nil, nil
	}
	return files.Open(b.file)
}

// NewBundle makes a bundle of the content of a suite file. name is the label of results, path is
// the file in messages.
func NewBundle(name, path string, data []byte) *Bundle {
	return &Bundle{Facts: Facts{Name: name, Path: path}, data: data}
}

// Read finds the suite that ref names and reads it. ref is
//
//   - the path of a suite file: JSON lines, YAML (.yaml, .yml) or code (.ts, .mts, .cts, .js, .mjs,
//     .cjs);
//   - the path of a directory with a manifest.toml, or of the manifest, in which o.Tier selects a tier;
//   - a published suite: "v1.0/cheap", "v1.0-cheap", or "v1.0" with o.Tier; "" means the newest
//     version.
//
// A file or directory takes precedence over a published suite of the same name. If a manifest pins
// the hash of the suite, the suite must have that hash, because published versions are immutable.
// Read does not parse the cases; [Bundle.Suite] does.
func Read(ctx context.Context, ref string, o ReadOptions) (*Bundle, error) {
	if o.Published == nil {
		o.Published = suites.FS()
	}
	b, err := o.read(ctx, ref)
	if err != nil {
		if ref == "" {
			return nil, fmt.Errorf("read suite: %w", err)
		}
		return nil, fmt.Errorf("read suite %s: %w", ref, err)
	}
	return b, nil
}

// Parts returns the suites that ref names: each tier of a suite version if neither ref nor o.Tier
// names one, otherwise ref alone. Errors are left to [Read].
func Parts(ref string, o ReadOptions) []string {
	if o.Published == nil {
		o.Published = suites.FS()
	}
	if ref == "" || o.Tier != "" {
		return []string{ref}
	}
	full := ref
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.Dir, ref)
	}
	if filepath.Base(full) == manifestName {
		full, ref = filepath.Dir(full), filepath.Dir(ref)
	}
	v, name := onDisk(full, ref), func(t Tier) string { return filepath.Join(ref, t.File) }
	if _, err := os.Stat(full); err != nil {
		version, tier, ok := o.splitPublished(ref)
		if !ok || tier != "" {
			return []string{ref}
		}
		v, name = builtIn(o.Published, version), func(t Tier) string { return version + "/" + t.Name }
	}
	m, err := v.manifest()
	if err != nil {
		return []string{ref}
	}
	var parts []string
	for _, t := range m.Tiers {
		parts = append(parts, name(t))
	}
	return parts
}

func (o ReadOptions) read(ctx context.Context, ref string) (*Bundle, error) {
	if ref == "" {
		versions, err := publishedVersions(o.Published)
		if err != nil {
			return nil, err
		}
		if len(versions) == 0 {
			return nil, errors.New("no suite is given and none is built in")
		}
		ref = versions[len(versions)-1]
		return o.published(ctx, ref, "")
	}
	full := ref
	if !filepath.IsAbs(full) {
		full = filepath.Join(o.Dir, ref)
	}
	info, err := os.Stat(full)
	switch {
	case err == nil && info.IsDir():
		if _, err := os.Stat(filepath.Join(full, manifestName)); err != nil {
			return nil, noManifest(full)
		}
		return o.tier(ctx, onDisk(full, ref), o.Tier)
	case err == nil && filepath.Base(full) == manifestName:
		return o.tier(ctx, onDisk(filepath.Dir(full), filepath.Dir(ref)), o.Tier)
	case err == nil:
		return o.file(ctx, ref, full, info)
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
		return nil, fmt.Errorf("look for %q: %w", ref, doc.Cause(err))
	}
	version, tier, ok := o.splitPublished(ref)
	if !ok {
		return nil, o.notFound(ref, full)
	}
	return o.published(ctx, version, tier)
}

// file reads a suite file. If a manifest in the same directory names it, it must match the
// manifest.
func (o ReadOptions) file(ctx context.Context, ref, full string, info fs.FileInfo) (*Bundle, error) {
	code, yaml := lib.IsCode(ref), cases.IsYAML(ref)
	if code || yaml || info.Mode()&fs.ModeNamedPipe == 0 { // JSON lines may come from a pipe
		if err := doc.Regular(full, doc.SuiteBytes); err != nil {
			return nil, doc.Cause(err)
		}
	}
	if slices.Contains(config.Names(), filepath.Base(full)) {
		return nil, plumb.WithHint(errors.New("a config file is not a suite"),
			"plumb finds the config file by its place; another one is given with --config")
	}
	if err := foreign(ref, full, info); err != nil {
		return nil, err
	}
	if hint := notASuite(ref); hint != "" {
		return nil, plumb.WithHint(fmt.Errorf("a %s file is not a suite", filepath.Ext(ref)), hint)
	}
	dir := filepath.Dir(full)
	if _, err := os.Stat(filepath.Join(dir, manifestName)); err == nil {
		v := onDisk(dir, filepath.Dir(ref))
		m, err := v.manifest()
		if err != nil {
			return nil, err
		}
		for _, t := range m.Tiers {
			if t.File != filepath.Base(full) {
				continue
			}
			if o.Tier != "" && o.Tier != t.Name {
				return nil, fmt.Errorf("it is tier %s of %s, not %s", t.Name, m.Version, o.Tier)
			}
			return o.open(ctx, v, m, t)
		}
	}
	if o.Tier != "" {
		return nil, plumb.WithHint(fmt.Errorf("it has no tier %q: only a suite version has tiers", o.Tier),
			"leave out the tier, or name a directory with a "+manifestName)
	}
	base := filepath.Base(ref)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	origin, err := filepath.Abs(full)
	if err != nil {
		return nil, fmt.Errorf("find its directory: %w", err)
	}
	if o.Stream && !code && !yaml && info.Mode().IsRegular() {
		b := NewBundle(name, ref, nil)
		b.file, b.origin = full, origin
		return b, nil
	}
	most := int64(doc.SuiteBytes)
	if yaml {
		most = doc.YAMLBytes
	}
	data, err := doc.ReadStream(full, most)
	if err != nil {
		return nil, doc.Cause(err)
	}
	b := NewBundle(name, ref, data)
	b.origin = origin
	if !code {
		return b, nil
	}
	if b.dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("find the working directory: %w", err)
	}
	return b, b.bundle()
}

// bundle bundles a suite in code. Problems of the sources are reported when the suite is loaded.
func (b *Bundle) bundle() (err error) {
	if b.program, err = lib.Build(b.origin); err != nil {
		b.broken = lib.Places{Origin: b.origin, Named: b.Path}.Problems(err)
		return nil
	}
	b.hash, err = codeHash(b.program)
	return err
}

// published reads a tier of a built-in version.
func (o ReadOptions) published(ctx context.Context, version, tier string) (*Bundle, error) {
	switch {
	case tier == "":
		tier = o.Tier
	case o.Tier != "" && o.Tier != tier:
		return nil, fmt.Errorf("it names tier %s, but the selected tier is %s", tier, o.Tier)
	}
	return o.tier(ctx, builtIn(o.Published, version), tier)
}

// tier reads one tier of a version. Without a name the version must have only one.
func (o ReadOptions) tier(ctx context.Context, v versionDir, name string) (*Bundle, error) {
	m, err := v.manifest()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, t := range m.Tiers {
		if t.Name == name || name == "" && len(m.Tiers) == 1 {
			return o.open(ctx, v, m, t)
		}
		known = append(known, t.Name)
	}
	if name == "" {
		return nil, plumb.WithHint(fmt.Errorf("%s has several tiers and none is selected", m.Version),
			"select one of "+strings.Join(known, ", ")+", such as --tier "+known[0])
	}
	return nil, plumb.WithHint(fmt.Errorf("%s has no tier %q", m.Version, name), doc.DidYouMean(name, known))
}

// open reads the file of a tier.
func (o ReadOptions) open(ctx context.Context, v versionDir, m *Manifest, t Tier) (*Bundle, error) {
	if o.Changed {
		return v.open(m, t)
	}
	return v.read(ctx, m, t)
}

// splitPublished splits "v1.0", "v1.0/cheap" or "v1.0-cheap" if the version exists.
func (o ReadOptions) splitPublished(ref string) (version, tier string, ok bool) {
	versions, err := publishedVersions(o.Published)
	if err != nil {
		return "", "", false
	}
	ref = strings.TrimSuffix(filepath.ToSlash(ref), "/")
	for _, v := range versions {
		if ref == v {
			return v, "", true
		}
		if rest, found := strings.CutPrefix(ref, v); found && (rest[0] == '/' || rest[0] == '-') {
			return v, strings.TrimSuffix(rest[1:], ".jsonl"), true
		}
	}
	return "", "", false
}

func publishedVersions(fsys fs.FS) ([]string, error) {
	found, err := fs.Glob(fsys, "*/"+manifestName)
	if err != nil {
		return nil, fmt.Errorf("list published suites: %w", err)
	}
	versions := make([]string, len(found))
	for i, f := range found {
		versions[i] = path.Dir(f)
	}
	slices.SortFunc(versions, compareVersions)
	return versions, nil
}

// notFound returns the error of a reference that names nothing, with the nearest name as a hint.
func (o ReadOptions) notFound(ref, full string) error {
	err := errors.New("there is no such file, directory or published suite")
	var near []string
	if entries, dirErr := os.ReadDir(filepath.Dir(full)); dirErr == nil {
		for _, e := range entries {
			if e.IsDir() || filepath.Ext(e.Name()) == ".jsonl" || cases.IsYAML(e.Name()) || lib.IsCode(e.Name()) {
				near = append(near, e.Name())
			}
		}
	}
	if best := plumb.Nearest(filepath.Base(full), near); best != "" {
		return plumb.WithHint(err, fmt.Sprintf("did you mean %q?", filepath.Join(filepath.Dir(ref), best)))
	}
	versions, listErr := publishedVersions(o.Published)
	if listErr != nil || len(versions) == 0 {
		return err
	}
	newest := versions[len(versions)-1]
	if m, manifestErr := builtIn(o.Published, newest).manifest(); manifestErr == nil {
		if slices.ContainsFunc(m.Tiers, func(t Tier) bool { return t.Name == ref }) {
			return plumb.WithHint(err, "for the published suite use --tier "+ref)
		}
	}
	return plumb.WithHint(err, "published suites: "+strings.Join(versions, ", "))
}

func noManifest(dir string) error {
	err := fmt.Errorf("the directory has no %s", manifestName)
	found, globErr := fs.Glob(os.DirFS(dir), "*.jsonl")
	if globErr != nil || len(found) == 0 {
		return err
	}
	return plumb.WithHint(err, "name one of its suite files: "+strings.Join(found[:min(len(found), 5)], ", "))
}

// notASuite returns a hint for a file whose extension is not that of a suite, or "".
func notASuite(name string) string {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".toml":
		return "use the directory of the manifest instead"
	case ".csv":
		return "plumb init writes a suite that reads it as data, see docs/suites.md"
	case ".md", ".txt":
		return "a suite is a .jsonl file with one case per line, a .yaml file, or a module such as a .ts file"
	case ".tsx", ".jsx":
		return "a suite in code is a .ts or .js file"
	}
	return ""
}
