package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
	"github.com/plumb-eval/plumb/internal/text"
	"github.com/plumb-eval/plumb/suites"
)

// Published returns the manifests of the built-in suite versions, oldest first.
func Published() ([]*Manifest, error) {
	versions, err := publishedVersions(suites.FS())
	if err != nil {
		return nil, err
	}
	manifests := make([]*Manifest, len(versions))
	for i, v := range versions {
		if manifests[i], err = builtIn(suites.FS(), v).manifest(); err != nil {
			return nil, err
		}
	}
	return manifests, nil
}

// Verify compares the suite version in a directory with its manifest: hashes, counts, token sums,
// the categories and assertion types in use, and whether a case is the same in all tiers. It
// returns all differences and the problems of an invalid manifest, in order of position. The
// version is valid if all of them are warnings. The error is that of a manifest that cannot be
// read.
func Verify(ctx context.Context, dir string) ([]doc.Problem, error) {
	v := onDisk(dir, dir)
	data, err := v.text()
	if err != nil {
		return nil, err
	}
	shown := filepath.Join(dir, manifestName)
	m, problems := parseManifest(shown, data)
	r := &manifestReader{file: shown, lines: indexTOML(data), problems: problems}
	if len(problems.Errors()) == 0 {
		r.verify(ctx, v, m)
	}
	return r.problems.Sorted(), nil
}

func (r *manifestReader) verify(ctx context.Context, v versionDir, m *Manifest) {
	if base := filepath.Base(v.shown); base != m.Version && base != "." && base != ".." {
		r.warn([]string{"suite", "version"},
			fmt.Sprintf("the version is %s, but its directory is %s", m.Version, base), "")
	}
	var used cases.Summary
	held := make([]map[string]string, len(m.Tiers)) // case hashes by id
	for i, t := range m.Tiers {
		held[i] = r.verifyTier(ctx, v, m, t, &used)
	}
	r.verifyCases(m, held)
	r.verifyWords("categories", m.Categories, used.Categories)
	r.verifyWords("assertion_types", m.AssertionTypes, used.Types)

	files, err := fs.Glob(v.fsys, path.Join(v.dir, "*.jsonl"))
	if err != nil {
		return
	}
	for _, f := range files {
		name := path.Base(f)
		if !slices.ContainsFunc(m.Tiers, func(t Tier) bool { return t.File == name }) {
			r.warn([]string{"tiers"}, "no tier names the file "+name, "")
		}
	}
}

// verifyTier checks one tier, adds to the words in use, and returns the hashes of its cases by id.
func (r *manifestReader) verifyTier(
	ctx context.Context, v versionDir, m *Manifest, t Tier, used *cases.Summary,
) map[string]string {
	at := func(key string) []string { return []string{"tiers", t.Name, key} }
	b, err := v.open(m, t)
	if err != nil {
		r.add(at("file"), err.Error(), "")
		return nil
	}
	p := b.read(ctx, lib.Host{}, true)
	b.closeChecks()
	r.problems = append(r.problems, p.Problems...)
	if p.Problems.Err() != nil {
		if t.Hash != "" {
			r.add(at("hash"), fmt.Sprintf("%s does not have the pinned hash, because it has problems", t.File), "")
		}
		return nil
	}
	if t.TestCount != p.Summary.Cases {
		r.add(at("test_count"), fmt.Sprintf("test_count is %d, but %s has %s", t.TestCount, t.File,
			text.Plural(p.Summary.Cases, "case")), "")
	}
	if t.EstimatedTokens != p.Summary.TokensEstimate {
		r.add(at("estimated_tokens"), fmt.Sprintf("estimated_tokens is %d, but those of the cases in %s add up to %d",
			t.EstimatedTokens, t.File, p.Summary.TokensEstimate), "")
	}
	switch {
	case t.Hash == "":
		r.warn(at("hash"), "no hash is pinned for tier "+t.Name, "plumb suite lock pins it")
	case t.Hash != b.hash:
		r.add(at("hash"), fmt.Sprintf("tier %s pins %s, but %s has %s", t.Name, t.Hash, t.File, b.hash),
			"published suite versions are immutable: new cases belong in a new version; "+
				"plumb suite diff OLD NEW lists the cases that differ")
		for _, c := range v.changes(t, b.data) {
			pos := t.HashPos
			if c.line > 0 {
				pos = plumb.Position{File: b.Path, Line: c.line, Column: 1}
			}
			r.problems = append(r.problems, doc.Problem{
				Pos: pos, Message: fmt.Sprintf("case %s %s since the version was published", c.id, c.what),
			})
		}
	}
	used.Merge(&p.Summary)
	hashes := make(map[string]string, len(p.Cases))
	for i := range p.Cases {
		hashes[p.Cases[i].ID] = p.Cases[i].Hash
	}
	return hashes
}

// verifyCases reports ids with different cases in two tiers. It also reports cases of a tier with
// one of the three documented names that the next larger tier does not have.
func (r *manifestReader) verifyCases(m *Manifest, held []map[string]string) {
	order := []string{"cheap", "moderate", "comprehensive"}
	for i, small := range m.Tiers {
		for j, large := range m.Tiers {
			if i == j || held[i] == nil || held[j] == nil {
				continue
			}
			var changed, missing []string
			for id, hash := range held[i] {
				other, ok := held[j][id]
				switch {
				case !ok:
					missing = append(missing, id)
				case other != hash && i < j:
					changed = append(changed, id)
				}
			}
			at := []string{"tiers", large.Name}
			if len(changed) > 0 {
				r.add(at, fmt.Sprintf("%s not the same in %s and %s: %s", text.Plural(len(changed), "case is", "cases are"),
					small.Name, large.Name, some(changed)), "an id must name the same case in all tiers")
			}
			rank, next := slices.Index(order, small.Name), slices.Index(order, large.Name)
			if len(missing) > 0 && rank >= 0 && next == rank+1 {
				r.warn(at, fmt.Sprintf("%s of %s not in %s: %s", text.Plural(len(missing), "case"), small.Name,
					large.Name, some(missing)), "each tier contains the smaller ones")
			}
		}
	}
}

// verifyWords compares the words that the manifest lists with those in use.
func (r *manifestReader) verifyWords(name string, listed []string, used map[string]int) {
	if listed == nil {
		return
	}
	at := []string{"metadata", name}
	for _, word := range slices.Sorted(maps.Keys(used)) {
		if !slices.Contains(listed, word) {
			r.add(at, fmt.Sprintf("%s does not list %q, which is in use", name, word), "")
		}
	}
	for _, word := range listed {
		if used[word] == 0 {
			r.warn(at, fmt.Sprintf("%s lists %q, which no case uses", name, word), "")
		}
	}
}

func (r *manifestReader) warn(key []string, message, hint string) {
	r.problems = append(r.problems, doc.Problem{Pos: r.position(key), Message: message, Hint: hint, Warning: true})
}

// some lists the first few of a set of ids.
func some(ids []string) string {
	slices.Sort(ids)
	const shown = 5
	if len(ids) > shown {
		return strings.Join(ids[:shown], ", ") + ", ..."
	}
	return strings.Join(ids, ", ")
}

// Lock pins the hash of each tier of the suite version in a directory, and updates test_count and
// estimated_tokens; nothing else in manifest.toml changes. It records the hash of each case in
// manifest.cases, so that messages can name a case that changes later. From then on the version is
// published. If a tier already has another pinned hash, Lock returns an error and writes nothing. It
// returns the resulting manifest, and whether it or the record has changed.
func Lock(ctx context.Context, dir string) (*Manifest, bool, error) {
	m, changed, err := lock(ctx, dir)
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", dir, err)
	}
	return m, changed, nil
}

func lock(ctx context.Context, dir string) (*Manifest, bool, error) {
	v := onDisk(dir, dir)
	old, err := v.text()
	if err != nil {
		return nil, false, err
	}
	file := filepath.Join(dir, manifestName)
	m, problems := parseManifest(file, old)
	if err := problems.Err(); err != nil {
		return nil, false, err
	}
	data := old
	var errs []error
	var record []recordedCase
	for _, t := range m.Tiers {
		b, err := v.open(m, t)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s, found := b.Validate(ctx, lib.Host{})
		if bad := doc.Problems(found).Errors(); len(bad) > 0 {
			problems = append(problems, bad...)
			continue
		}
		if s.Cases == 0 {
			errs = append(errs, fmt.Errorf("tier %s has no cases", t.Name))
			continue
		}
		if t.Hash != "" && t.Hash != s.Hash {
			errs = append(errs, immutable(m, t, "the file has "+s.Hash+v.changed(t, b.data)))
			continue
		}
		record = append(record, recordedCases(t.File, b.data)...)
		for _, set := range []struct{ key, value string }{
			{"test_count", strconv.Itoa(s.Cases)},
			{"estimated_tokens", strconv.FormatInt(max(s.TokensEstimate, 0), 10)},
			{"hash", strconv.Quote(s.Hash)},
		} {
			lines, key := indexTOML(data), []string{"tiers", t.Name, set.key}
			i := lines.entry(key, false)
			if i >= 0 && string(data[lines.entries[i].value:lines.entries[i].valueEnd]) == set.value {
				continue
			}
			if data, err = lines.set(key, set.value); err != nil {
				return nil, false, err
			}
		}
	}
	if len(problems) > 0 {
		errs = append(errs, problems.Sorted())
	}
	if len(errs) > 0 {
		return nil, false, errors.Join(errs...)
	}
	locked, problems := parseManifest(file, data)
	if err := problems.Err(); err != nil {
		return nil, false, fmt.Errorf("the edited manifest would not be valid: %w", err)
	}
	changed := false
	for _, f := range []struct {
		name string
		text []byte
	}{{recordName, formatRecord(record)}, {manifestName, data}} {
		name := filepath.Join(dir, f.name)
		if have, err := doc.Read(name, doc.SuiteBytes); err == nil && bytes.Equal(have, f.text) {
			continue
		}
		changed = true
		if err := replaceFile(name, f.text, 0o644); err != nil {
			return nil, false, err
		}
	}
	return locked, changed, nil
}

// NewVersion copies the suite version in a directory to a new sibling directory as the next,
// unpublished version, without pinned hashes and without a date. name is the name of the new
// version; "" means the next number, v1.1 after v1.0. A version with a tier that does not have its
// pinned hash is an error. NewVersion returns the new directory.
func NewVersion(ctx context.Context, dir, name string) (string, error) {
	made, err := newVersion(ctx, dir, name)
	if err != nil {
		return "", fmt.Errorf("make a new version of %s: %w", dir, err)
	}
	return made, nil
}

func newVersion(ctx context.Context, dir, name string) (string, error) {
	v := onDisk(dir, dir)
	data, err := v.text()
	if err != nil {
		return "", err
	}
	m, problems := parseManifest(filepath.Join(dir, manifestName), data)
	if err := problems.Err(); err != nil {
		return "", err
	}
	for _, t := range m.Tiers {
		if _, err := v.read(ctx, m, t); err != nil {
			return "", err
		}
	}
	if name == "" {
		if name = nextVersion(m.Version); name == "" {
			return "", plumb.WithHint(fmt.Errorf("version %q does not end in a number", m.Version),
				"name the new version")
		}
	}
	if why := cases.UnsafeID(name); why != "" {
		return "", fmt.Errorf("version %q %s", name, why)
	}
	lines := indexTOML(data)
	if data, err = lines.set([]string{"suite", "version"}, strconv.Quote(name)); err != nil {
		return "", err
	}
	removed := [][]string{{"suite", "created"}}
	for _, t := range m.Tiers {
		removed = append(removed, []string{"tiers", t.Name, "hash"})
	}
	for _, key := range removed {
		lines = indexTOML(data)
		data = lines.remove(key)
	}
	next, problems := parseManifest(manifestName, data)
	if err := problems.Err(); err != nil {
		return "", fmt.Errorf("the edited manifest would not be valid: %w", err)
	}
	for _, t := range next.Tiers {
		if t.Hash != "" {
			return "", fmt.Errorf("cannot remove the hash of tier %s: the manifest has no line [tiers.%[1]s]", t.Name)
		}
	}

	parent := filepath.Dir(filepath.Clean(dir))
	made := filepath.Join(parent, name)
	if _, err := os.Lstat(made); err == nil {
		return "", fmt.Errorf("%s exists", made)
	}
	draft, err := os.MkdirTemp(parent, ".plumb-new-version-*")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(draft) // after the rename it does not exist
	if err := os.CopyFS(draft, os.DirFS(dir)); err != nil {
		return "", err
	}
	if err := os.Remove(filepath.Join(draft, recordName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if err := replaceFile(filepath.Join(draft, manifestName), data, 0o644); err != nil {
		return "", err
	}
	if err := os.Chmod(draft, 0o755); err != nil {
		return "", err
	}
	if err := os.Rename(draft, made); err != nil {
		return "", err
	}
	return made, nil
}

// nextVersion returns the version with its last number plus one, or "".
func nextVersion(version string) string {
	digits := len(version) - len(strings.TrimRight(version, "0123456789"))
	n, err := strconv.Atoi(version[len(version)-digits:])
	if err != nil {
		return ""
	}
	return version[:len(version)-digits] + strconv.Itoa(n+1)
}

// compareVersions orders v1.2 before v1.10: numbers by value, other parts by characters.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		x, restA := versionPart(a)
		y, restB := versionPart(b)
		m, errA := strconv.Atoi(x)
		n, errB := strconv.Atoi(y)
		if errA == nil && errB == nil && m != n {
			return m - n
		}
		if c := strings.Compare(x, y); c != 0 && (errA != nil || errB != nil) {
			return c
		}
		a, b = restA, restB
	}
	return len(a) - len(b)
}

// versionPart cuts a run of digits, or of other characters, from the start of s.
func versionPart(s string) (part, rest string) {
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	i := 1
	for i < len(s) && digit(s[i]) == digit(s[0]) {
		i++
	}
	return s[:i], s[i:]
}

// replaceFile replaces a file atomically. mode is the mode of a new file; an existing file keeps its
// own.
func replaceFile(file string, data []byte, mode fs.FileMode) error {
	_, missing := os.Stat(file)
	return doc.Write(file, func(w *doc.File) error {
		if missing != nil {
			if err := w.Chmod(mode); err != nil {
				return err
			}
		}
		_, err := w.Write(data)
		return err
	})
}
