package check

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
)

// readLimit is the largest file of the workspace that is read, in bytes.
const readLimit = 16 << 20

func filePathKey() Key {
	return Key{
		Name: "path", Type: "string", NotEmpty: true, Required: true,
		Doc: "a path or a glob, relative to the workspace",
	}
}

func fileExistsKind() Kind {
	return Kind{
		Name: "file_exists", Doc: "the workspace has the file or directory after the session", Reads: "workspace",
		Keys: []Key{filePathKey()}, Details: "none",
		parse: func(s *spec) matcher { return s.fileMatcher(nil) },
	}
}

func fileContainsKind() Kind {
	return Kind{
		Name: "file_contains", Doc: "a file of the workspace has the expected content", Reads: "workspace",
		Keys: append(TextKeys(),
			filePathKey(),
			Key{Name: "contains", Type: "string", Doc: "the file contains this text"},
			Key{Name: "pattern", Type: "string", Doc: "this regular expression matches somewhere in the file"},
			idealKey(),
		),
		Details: "those of `contains`, `contains_any` or `regex`, whichever compares the content",
		parse:   (*spec).fileContent,
	}
}

// fileContent reads what a file must contain.
func (s *spec) fileContent() matcher {
	if pattern, ok := s.text("pattern"); ok {
		m, err := newRegex(pattern, s.compare())
		s.invalid("pattern", err)
		return s.fileMatcher(newCheck("regex", m))
	}
	if text, ok := s.text("contains"); ok {
		return s.fileMatcher(newCheck(contains, newText(contains, []string{text}, s.compare())))
	}
	terms, at, ok := s.terms()
	if !ok || len(terms) == 0 {
		s.bad(at, `file_contains needs "contains", "pattern" or an "ideal"`)
		return nil
	}
	return s.fileMatcher(newCheck(containsAny, newText(containsAny, terms, s.compare())))
}

func (s *spec) fileMatcher(text *Check) matcher {
	m, err := newFile(s.textOr("path"), text)
	s.invalid("path", err)
	return m
}

// fileMatcher looks at a file of the workspace as the session left it: file_exists and
// file_contains.
type fileMatcher struct {
	offline
	path    string
	text    *Check // checks the content; nil for file_exists
	pattern *regexp.Regexp
}

// FileExists passes if the workspace has the file or directory after the session. The path is
// relative to the workspace, and may be a glob (*, ?, [a-z], and ** for any number of elements).
func FileExists(path string) (*Check, error) {
	m, err := newFile(path, nil)
	return tryCheck("file_exists", m, err)
}

// FileContains passes if the content of a file of the workspace passes a check of text, such as
// [Contains], [Regex] or [IsJSON]. If path is a glob, one of its files is enough.
func FileContains(path string, text *Check) (*Check, error) {
	m, err := newFile(path, text)
	return tryCheck("file_contains", m, err)
}

func newFile(name string, text *Check) (*fileMatcher, error) {
	clean := path.Clean(slash(name))
	if name == "" || !filepath.IsLocal(filepath.FromSlash(clean)) {
		return nil, fmt.Errorf("the path %q is not in the workspace", name)
	}
	m := &fileMatcher{path: clean, text: text}
	if !strings.ContainsAny(clean, "*?[") {
		return m, nil
	}
	var err error
	m.pattern, err = glob(clean)
	return m, err
}

func (m *fileMatcher) describe(o options) {
	o["path"] = m.path
	if m.text != nil {
		text := options{"type": m.text.Type()}
		m.text.describe(text)
		o["text"] = text.text()
	}
}

func (m *fileMatcher) match(ctx context.Context, ev *plumb.Evidence) plumb.Verdict {
	root, err := openWorkspace(ev.Workspace)
	if err != nil {
		return unmeasured(incomplete(err))
	}
	defer root.Close()
	names, err := m.names(root)
	if err != nil {
		return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read the workspace: %w", err))
	}
	what := m.path
	if m.text != nil {
		what = "file " + what
		names = slices.DeleteFunc(names, func(name string) bool {
			info, err := root.Stat(filepath.FromSlash(name))
			return err == nil && info.IsDir()
		})
	}
	if len(names) == 0 {
		v := decided(false, fmt.Sprintf("the workspace has no %s after the session", what))
		v.Expected, v.Got = m.path, "(none)"
		return v
	}
	if m.text == nil {
		v := decided(true, "the workspace has "+names[0])
		v.Expected, v.Got = m.path, strings.Join(names[:min(len(names), 10)], ", ")
		return v
	}
	var last plumb.Verdict
	for _, name := range names {
		content, err := doc.ReadFS(root.FS(), name, readLimit)
		if err != nil {
			return unmeasured(plumb.Failuref(plumb.OriginAssertHook, "read %s: %w", name, err))
		}
		v := m.text.match(ctx, withOutput(ev, string(content)))
		v.Reason = name + ": " + v.Reason
		if v.Pass || v.Error != nil {
			return v
		}
		last = v
	}
	return last
}

// openWorkspace opens the directory that a session worked in. No path leads out of the returned
// root.
func openWorkspace(dir string) (*os.Root, error) {
	if dir == "" {
		return nil, plumb.WithHint(errors.New("the session has no workspace"), "only agents and commands have one")
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, plumb.WithHint(fmt.Errorf("the workspace %s was deleted", dir),
			"keep it with --keep-workspaces to judge the session again")
	}
	return root, err
}

// names returns the paths that match, sorted.
func (m *fileMatcher) names(root *os.Root) ([]string, error) {
	if m.pattern == nil {
		_, err := root.Stat(filepath.FromSlash(m.path))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return []string{m.path}, err
	}
	var names []string
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && name == ".":
			return err
		case err != nil:
			return nil //nolint:nilerr // a directory that cannot be read has no files
		case d.IsDir() && name != "." && (d.Name() == ".git" || d.Name() == "node_modules"):
			return fs.SkipDir
		case name != "." && m.pattern.MatchString(name):
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names, err
}

// glob compiles a pattern of slash-separated paths. * and ? match within an element, ** matches any
// number of elements.
func glob(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile("^" + globText(pattern) + "$")
}

// pathPattern compiles a pattern that matches the last elements of a path.
func pathPattern(pattern string) (*regexp.Regexp, error) {
	pattern = strings.TrimPrefix(path.Clean(slash(pattern)), "./")
	if strings.HasPrefix(pattern, "/") {
		return glob(pattern)
	}
	return regexp.Compile("(^|/)" + globText(pattern) + "$")
}

func globText(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		switch c := pattern[i]; {
		case strings.HasPrefix(pattern[i:], "**/"):
			b.WriteString("(?:.*/)?")
			i += 2
		case strings.HasPrefix(pattern[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[' && strings.IndexByte(pattern[i+1:], ']') > 0:
			end := i + 1 + strings.IndexByte(pattern[i+1:], ']')
			class := strings.ReplaceAll(pattern[i+1:end], `\`, `\\`)
			if rest, ok := strings.CutPrefix(class, "!"); ok {
				class = "^" + rest
			}
			b.WriteString("[" + class + "]")
			i = end
		default:
			b.WriteString(regexp.QuoteMeta(string(c)))
		}
	}
	return b.String()
}

func slash(name string) string { return strings.ReplaceAll(name, `\`, "/") }

// relative returns a path relative to the workspace, with slashes. A path outside of it stays
// absolute.
func relative(name, workspace string) string {
	if workspace == "" {
		return slash(name)
	}
	rel, err := filepath.Rel(workspace, name)
	if err != nil || !filepath.IsLocal(rel) {
		return slash(name)
	}
	return slash(rel)
}
