package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// The npm package that agent suites are compared with, and its Node.
const (
	peerPackage = "skillgym@0.8.1"
	peerNode    = "node@22"
)

// peer is an installed skillgym. Suites that import it must be in its directory.
type peer struct{ dir, version string }

// installSkillgym installs skillgym with the Node that it needs, unless the user has done so.
func (b *bench) installSkillgym(ctx context.Context) (peer, error) {
	p := peer{dir: b.skillgym}
	if p.dir == "" {
		p.dir = filepath.Join(b.dir, "skillgym")
		if err := os.MkdirAll(p.dir, 0o700); err != nil {
			return peer{}, err
		}
		if !exists(p.file()) {
			fmt.Fprintf(b.stderr, "npm install %s %s ...\n", peerNode, peerPackage)
			// npm runs with the user's registry
			u, err := execute(ctx, p.dir, os.Environ(), "npm", "install", "--prefix", p.dir, "--no-audit", "--no-fund",
				peerNode, peerPackage)
			if err = u.failure(err); err != nil {
				return peer{}, fmt.Errorf("install skillgym: %w", err)
			}
		}
	}
	data, err := os.ReadFile(p.file())
	if err != nil {
		return peer{}, err
	}
	var about struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(data, &about); err != nil {
		return peer{}, fmt.Errorf("read %s: %w", p.file(), err)
	}
	p.version = about.Version
	if p.dir, err = filepath.Abs(p.dir); err != nil {
		return peer{}, err
	}
	return p, nil
}

func (p peer) file() string { return filepath.Join(p.dir, "node_modules", "skillgym", "package.json") }

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// runSkillgym runs the suite with skillgym and checks that n cases pass.
func (b *bench) runSkillgym(ctx context.Context, p peer, a agentBench, n int) (usage, error) {
	u, out, err := b.startSkillgym(ctx, p, a)
	defer os.RemoveAll(filepath.Join(a.dir, ".skillgym-results"))
	if err == nil && u.code != 0 {
		err = fmt.Errorf("skillgym ended with code %d: %s", u.code, u.output)
	}
	if err != nil {
		return u, err
	}
	return u, b.counted(ctx, n, "-skillgym", out)
}

// startSkillgym runs the suite and returns the path of its summary.
func (b *bench) startSkillgym(ctx context.Context, p peer, a agentBench) (usage, string, error) {
	out, err := os.Create(filepath.Join(a.dir, "skillgym.json"))
	if err != nil {
		return usage{}, "", err
	}
	bin := filepath.Join(p.dir, "node_modules", ".bin")
	env := append(b.environment(""), "BENCH_TRANSCRIPT="+a.transcript)
	u, err := executeTo(ctx, out, a.dir, env, filepath.Join(bin, "node"), filepath.Join(bin, "skillgym"), "run",
		"suite.ts", "--reporter", "json-summary")
	return u, out.Name(), errors.Join(err, out.Close())
}

// largePeer reports how skillgym handles the transcript that plumb read in the first shape.
func (b *bench) largePeer(ctx context.Context, size int) error {
	p, err := b.installSkillgym(ctx)
	if err != nil {
		b.report.add("  skillgym", "not compared: "+strings.ReplaceAll(err.Error(), "\n", " "))
		return nil // the figures of plumb are complete without it
	}
	a, err := b.agentSetup(ctx, filepath.Join(p.dir, "agent-large"), 1, 1, 1_000_000, size)
	if err != nil {
		return err
	}
	defer os.Remove(a.transcript)
	defer os.RemoveAll(filepath.Join(a.dir, ".skillgym-results"))
	u, _, err := b.startSkillgym(ctx, p, a)
	if err != nil {
		return err
	}
	what := "passes"
	if u.code != 0 {
		what = fmt.Sprintf("fails with code %d", u.code)
		for line := range strings.Lines(u.output) {
			if strings.Contains(line, "Invalid string length") {
				what += ": Invalid string length"
				break
			}
		}
	}
	b.report.add("  skillgym "+p.version+", lines of 1 MB", fmt.Sprintf("%s; %s, %.2f s wall, %.2f s CPU", what,
		mb(u.peak), u.wall.Seconds(), u.cpu.Seconds()))
	return nil
}

// countMain checks results: a json-summary of plumb, one of skillgym, or one session report.
func countMain(args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench count", flag.ContinueOnError)
	fs.SetOutput(stderr)
	n := fs.Int("n", 1, "how many cases must pass, and no other be there")
	summary := fs.String("summary", "", "json-summary of plumb")
	other := fs.String("skillgym", "", "json-summary of skillgym")
	report := fs.String("report", "", "session report")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *report != "" {
		return checkReport(*report)
	}
	outcomes := map[string]string{}
	if err := readSummary(cmp.Or(*summary, *other), outcomes); err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	for id, outcome := range outcomes {
		if outcome != "pass" {
			return fmt.Errorf("%w: case %s has outcome %q", errWrong, id, outcome)
		}
	}
	if len(outcomes) != *n {
		return fmt.Errorf("%w: %d cases, want %d", errWrong, len(outcomes), *n)
	}
	fmt.Fprintln(stdout, *n)
	return nil
}

// checkReport checks that a report has commands and the final answer of the transcripts.
func checkReport(file string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var doc struct {
		FinalOutput string `json:"finalOutput"`
		Outcome     string `json:"outcome"`
		Events      []struct {
			Type string `json:"type"`
		} `json:"events"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return fmt.Errorf("%w: %w", errWrong, err)
	}
	commands := 0
	for _, e := range doc.Events {
		if e.Type == "command" {
			commands++
		}
	}
	if doc.FinalOutput != finalAnswer || doc.Outcome != "pass" || commands == 0 {
		return fmt.Errorf("%w: outcome %q with %d commands and the final output %q", errWrong, doc.Outcome, commands,
			doc.FinalOutput)
	}
	return nil
}
