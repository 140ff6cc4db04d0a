package agent

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/claude"
	"github.com/plumb-eval/plumb/internal/agent/codex"
	"github.com/plumb-eval/plumb/internal/agent/copilot"
	"github.com/plumb-eval/plumb/internal/agent/opencode"
	"github.com/plumb-eval/plumb/internal/agent/spec"
)

// program makes an executable file.
func (s *scene) program(name string) string {
	s.Helper()
	path := s.write(name, "#!/bin/sh\n")
	if err := os.Chmod(path, 0o700); err != nil {
		s.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	s := newScene(t, "codex", "ok")
	bin := filepath.Join(s.dir, "bin")
	npx, pnpm, own := s.program("bin/npx"), s.program("bin/pnpm"), s.program("tools/my-codex")
	program := s.program("bin/codex")
	t.Setenv("PATH", bin)
	for _, tt := range []struct {
		cfg  plumb.AgentConfig
		path string
		args []string
	}{
		{plumb.AgentConfig{}, program, nil},
		{plumb.AgentConfig{Command: "codex"}, program, nil},
		{plumb.AgentConfig{Command: program}, program, nil},
		{plumb.AgentConfig{Command: "./tools/my-codex"}, own, nil},
		{plumb.AgentConfig{Command: "npx"}, npx, []string{"codex"}},
		{plumb.AgentConfig{CommandArgs: []string{"-y"}}, npx, []string{"-y", "codex"}},
		{plumb.AgentConfig{Command: "npx", CommandArgs: []string{"-y"}}, npx, []string{"-y", "codex"}},
		{plumb.AgentConfig{Command: "npx", CommandArgs: []string{"-y", "@openai/codex@0.169.0"}}, npx, []string{"-y", "@openai/codex@0.169.0"}},
		{plumb.AgentConfig{Command: "pnpm", CommandArgs: []string{"exec"}}, pnpm, []string{"exec", "codex"}},
		{plumb.AgentConfig{Command: "codex", CommandArgs: []string{"--profile", "x"}}, program, []string{"--profile", "x"}},
	} {
		p, err := find(tt.cfg, codex.Spec(), Env{Dir: s.dir})
		if err != nil || p.Path != tt.path || !slices.Equal(p.Args, tt.args) {
			t.Errorf("%+v: %+v, %v", tt.cfg, p, err)
		}
	}
	p, err := find(plumb.AgentConfig{Command: "npx", CommandArgs: []string{"opencode-ai"}}, opencode.Spec(), Env{Dir: s.dir})
	if err != nil || len(p.Args) != 1 {
		t.Errorf("%+v, %v: only codex is named to its launcher", p, err)
	}
	if _, err := find(plumb.AgentConfig{}, claude.Spec(), Env{Dir: s.dir}); err == nil || plumb.Hint(err) == "" {
		t.Error(err)
	}
}

// TestFindNative has npm's layouts: the program lies beside the script's package, or in that package's own node_modules.
func TestFindNative(t *testing.T) {
	t.Setenv("PATH", "")
	platform := npmPlatform()
	for _, tt := range []struct {
		spec           spec.Spec
		script, native string
	}{
		{codex.Spec(), "@openai/codex/bin/codex.js", "@openai/codex-" + platform + "/vendor/x86_64-unknown-linux-musl/bin/codex"},
		{codex.Spec(), "@openai/codex/bin/codex.js", "@openai/codex/node_modules/@openai/codex-" + platform + "/vendor/x/bin/codex"},
		{codex.Spec(), "@openai/codex/bin/codex.js", "@openai/codex/vendor/x86_64-unknown-linux-musl/codex/codex"},
		{claude.Spec(), "@anthropic-ai/claude-code/cli.js", "@anthropic-ai/claude-code-" + platform + "/claude"},
		{opencode.Spec(), "opencode-ai/bin/opencode", "opencode-" + platform + "/bin/opencode"},
		{copilot.Spec(), "@github/copilot/npm-loader.js", "@github/copilot-" + platform + "/copilot"},
	} {
		s := newScene(t, "codex", "ok")
		script := s.program("project/node_modules/" + tt.script)
		link := filepath.Join(s.dir, "project", "node_modules", ".bin", tt.spec.Programs[0])
		if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(script, link); err != nil {
			t.Fatal(err)
		}
		env := Env{Dir: filepath.Join(s.dir, "project", "suites", "deep")}
		if p, err := find(plumb.AgentConfig{}, tt.spec, env); err != nil || p.Path != link {
			t.Errorf("%s: %+v, %v, want the script", tt.native, p, err)
		}
		native := s.program("project/node_modules/" + tt.native)
		if p, err := find(plumb.AgentConfig{}, tt.spec, env); err != nil || p.Path != native {
			t.Errorf("%s: %+v, %v", tt.native, p, err)
		}
	}
}
