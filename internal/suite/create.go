package suite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/suite/cases"
	"github.com/plumb-eval/plumb/internal/suite/lib"
)

// NewSuite makes a directory with the first, unpublished version of a suite: a copy of each file of
// JSON Lines as a tier with the name of the file, and a manifest. [Lock] adds counts and hashes. The
// directory must not exist. If a case is not valid in a version, the error is [doc.Problems].
func NewSuite(ctx context.Context, dir string, files []string) error {
	version := filepath.Base(dir)
	var invalid doc.Problems
	if why := cases.UnsafeID(version); why != "" {
		return fmt.Errorf("make a suite version: version %q %s", version, why)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return plumb.WithHint(fmt.Errorf("make a suite version: %s exists", dir),
			"plumb suite new-version makes the next version of an existing one")
	}
	var manifest strings.Builder
	fmt.Fprintf(&manifest, "[suite]\nversion = %q\ndescription = \"\"\n", version)
	texts := map[string][]byte{}
	for _, file := range files {
		b, err := Read(ctx, file, ReadOptions{})
		if err != nil {
			return err
		}
		if b.Code() || cases.IsYAML(file) {
			return plumb.WithHint(fmt.Errorf("make a suite version: %s is not JSON Lines", file),
				"the tiers of a version are files of JSON Lines")
		}
		name := filepath.Base(file)
		tier := strings.TrimSuffix(name, filepath.Ext(name))
		b.Version, b.Tier = version, tier // the rules of a version are stricter
		_, problems := b.Validate(ctx, lib.Host{})
		invalid = append(invalid, doc.Problems(problems).Errors()...)
		if why := cases.UnsafeID(tier); why != "" {
			return fmt.Errorf("make a suite version: tier %q %s", tier, why)
		}
		if texts[name] != nil {
			return fmt.Errorf("make a suite version: two files are named %s", name)
		}
		texts[name] = b.Data()
		fmt.Fprintf(&manifest, "\n[tiers.%q]\nfile = %q\ntest_count = 0\nestimated_tokens = 0\ndescription = \"\"\n", tier, name)
	}
	if _, problems := parseManifest(manifestName, []byte(manifest.String())); problems.Err() != nil {
		return fmt.Errorf("make a suite version: %w", problems.Err())
	}
	if err := invalid.Err(); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make a suite version: %w", doc.Cause(err))
	}
	texts[manifestName] = []byte(manifest.String())
	for name, text := range texts {
		if err := replaceFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return fmt.Errorf("make a suite version: %w", err)
		}
	}
	return nil
}
