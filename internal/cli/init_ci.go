package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/examples"
	"github.com/plumb-eval/plumb/internal/agent"
	"github.com/plumb-eval/plumb/internal/project"
	"github.com/plumb-eval/plumb/internal/runner/modelapi"
)

// writeJob writes the job of the CI service for the runners of the config. It never replaces a file.
func (c *initCmd) writeJob(ctx context.Context, w *written) error {
	cfg, err := project.ReadConfig(ctx, c.env(), "")
	if err != nil {
		return err
	}
	var keys, installs []string
	for _, r := range cfg.Runners {
		if r.Agent != nil {
			for _, spec := range agent.All() {
				if spec.Name == r.Agent.Type {
					keys, installs = append(keys, spec.Keys[0]), append(installs, spec.Install)
				}
			}
			continue
		}
		name, _, _ := strings.Cut(r.Model, ":")
		for _, p := range modelapi.Providers() {
			if p.Name == name && len(p.KeyEnv) > 0 {
				keys = append(keys, p.KeyEnv[0])
			}
		}
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	name, text := ".gitlab-ci.yml", string(examples.GitLab())
	install := "    - go install github.com/plumb-eval/plumb/cmd/plumb@latest\n"
	prefix := "    - "
	where := "the CI/CD variables of the project"
	if c.ci == "github" {
		name, text = ".github/workflows/plumb.yml", string(examples.GitHub())
		install, prefix, where = "      "+strings.Replace(install[4:], "- ", "- run: ", 1), "      - run: ", "the secrets of the repository"
		const key = "          OPENAI_API_KEY: ${{ secrets.OPENAI_API_KEY }}\n"
		var env []string
		for _, k := range keys {
			env = append(env, strings.ReplaceAll(key, "OPENAI_API_KEY", k))
		}
		lines := strings.Join(env, "")
		if lines == "" {
			text = strings.Replace(text, "        env:\n"+key, "", 1)
		}
		text = strings.Replace(text, key, lines, 1)
		text = strings.Replace(text, "plumb run ||",
			"plumb run --report terminal --report github-actions --report junit:plumb-junit.xml ||", 1)
	}
	for _, line := range installs {
		if !strings.HasPrefix(line, "npm ") {
			line = "echo 'install the agent: " + line + "'; exit 2"
		} else if c.ci == "gitlab" {
			line = "apt-get update && apt-get install -y npm && " + line
		}
		text = strings.Replace(text, install, install+prefix+line+"\n", 1)
	}
	path := c.path(filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // not a secret
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644) //nolint:gosec // not a secret
	if errors.Is(err, fs.ErrExist) {
		return plumb.WithHint(fmt.Errorf("%s exists already", name), "add the job yourself, as in docs/ci.md")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = f.WriteString(text)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	w.Files = append(w.Files, name)
	if len(keys) > 0 {
		w.Next += "; in " + where + ", set " + strings.Join(keys, ", ")
	}
	return nil
}
