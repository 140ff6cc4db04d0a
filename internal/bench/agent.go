package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The targets of agent suites, on two cores.
const (
	agentStartTarget = 80 * time.Millisecond
	agentManyTarget  = 0.25  // times what skillgym takes
	agentRateTarget  = 100.0 // MB/s
	agentLargeTarget = 250.0 // MB
)

// agentScript is a fake agent: it prints a version, and otherwise its transcript. skillgym starts
// some agents with their own name as the first argument.
const agentScript = `#!/bin/sh
case "$1$2" in *--version) echo 2.1.328; exit;; esac
exec cat "$BENCH_TRANSCRIPT"
`

// agentSuite is a suite of N cases in the format of skillgym. plumb runs it unchanged.
const agentSuite = `import { assert, type TestCase } from "skillgym";

const suite: TestCase[] = Array.from({ length: N }, (_, i) => ({
  id: "case-" + i,
  prompt: "What do the tests of package " + i + " say?",
  assert(report) {
    assert.match(report.finalOutput, /answer is \d+/);
    assert.commands.includes(report, "go test ./p0");
  },
}));

export default suite;
`

const agentConfig = `export default {
  run: { schedule: "parallel", maxParallel: PARALLEL },
  runners: { fake: { agent: { type: "claude-code", model: "claude-sonnet-4-6", command: AGENT } } },
};
`

// agentBench is a directory with a suite, its config and a fake agent.
type agentBench struct {
	dir, agent, transcript string
}

// agentSetup creates an agentBench with n cases and a transcript of size bytes. It creates dir if
// needed.
func (b *bench) agentSetup(ctx context.Context, dir string, n, parallel, median, size int) (agentBench, error) {
	a := agentBench{
		dir: dir, agent: filepath.Join(dir, "agent"),
		transcript: filepath.Join(dir, fmt.Sprintf("transcript-%d-%d.jsonl", median, size)),
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return a, err
	}
	command, err := json.Marshal(a.agent)
	if err != nil {
		return a, err
	}
	config := strings.NewReplacer("PARALLEL", strconv.Itoa(parallel), "AGENT", string(command)).Replace(agentConfig)
	for name, text := range map[string]string{
		"suite.ts": strings.ReplaceAll(agentSuite, "N }", strconv.Itoa(n)+" }"), "skillgym.config.ts": config,
		"agent":        agentScript,
		"package.json": `{"type": "module"}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text),
			0o700); err != nil { // the fake agents are programs
			return a, err
		}
	}
	return a, b.transcript(ctx, "claude-code", median, size, a.transcript)
}

// transcript writes a transcript in a separate process.
func (b *bench) transcript(ctx context.Context, agent string, median, size int, file string) error {
	return b.helper(ctx, "transcript", "-agent", agent, "-record", strconv.Itoa(median), "-size", strconv.Itoa(size),
		"-out", file)
}

// runAgents runs the suite with plumb and checks that n cases pass.
func (b *bench) runAgents(ctx context.Context, a agentBench, n int) (usage, error) {
	summary := filepath.Join(a.dir, "summary.json")
	env := append(b.environment(""), "BENCH_TRANSCRIPT="+a.transcript)
	u, err := execute(ctx, a.dir, env, b.plumb, "run", "suite.ts", "--report", "json-summary:"+summary)
	defer os.RemoveAll(filepath.Join(a.dir, ".plumb"))
	if err == nil && u.code != 0 {
		err = fmt.Errorf("%w: plumb run ended with code %d: %s", errWrong, u.code, u.output)
	}
	if err != nil {
		return u, err
	}
	return u, b.counted(ctx, n, "-summary", summary)
}

// counted checks results in a separate process.
func (b *bench) counted(ctx context.Context, n int, args ...string) error {
	return b.helper(ctx, slices.Concat([]string{"count", "-n", strconv.Itoa(n)}, args)...)
}

// agentStart measures one case with an agent that answers at once.
func (b *bench) agentStart(ctx context.Context) error {
	if !b.posing("one case with an agent") {
		return nil
	}
	a, err := b.agentSetup(ctx, filepath.Join(b.dir, "agent-start"), 1, 1, 300, 5_000)
	if err != nil {
		return err
	}
	var all []usage
	for range 20 {
		u, err := b.runAgents(ctx, a, 1)
		if err != nil {
			return err
		}
		all = append(all, u)
	}
	u := medians(all)
	b.report.target("plumb run, one TypeScript case with an agent, median of 20",
		fmt.Sprintf("%s, %s CPU, %s", ms(u.wall), ms(u.cpu), mb(u.peak)),
		"< "+ms(agentStartTarget), u.wall < agentStartTarget)
	return nil
}

// posing reports whether a shell script can act as an agent on this system.
func (b *bench) posing(what string) bool {
	if runtime.GOOS == "windows" {
		b.report.add(what, "not measured: a shell script cannot pose as an agent here")
		return false
	}
	return true
}

// agentMany compares many sessions with skillgym, in alternating rounds. It measures the agent
// alone and subtracts its time from both.
func (b *bench) agentMany(ctx context.Context) error {
	n, parallel := 500/b.scale, 8
	what := fmt.Sprintf("%d sessions of 100 KB, %d at once, overhead of each", n, parallel)
	if !b.posing(what) {
		return nil
	}
	peer, err := b.installSkillgym(ctx)
	if err != nil {
		b.report.add(what, "not compared: "+strings.ReplaceAll(err.Error(), "\n", " "))
	}
	a, err := b.agentSetup(ctx, filepath.Join(cmp.Or(peer.dir, b.dir), "agent-many"), n, parallel, 1_000, 100_000)
	if err != nil {
		return err
	}
	var bare, plumbs, peers []usage
	for range b.rounds {
		u, err := b.spawn(ctx, a, n, parallel)
		if err != nil {
			return err
		}
		bare = append(bare, u)
		if u, err = b.runAgents(ctx, a, n); err != nil {
			return err
		}
		plumbs = append(plumbs, u)
		if peer.dir == "" {
			continue
		}
		if u, err = b.runSkillgym(ctx, peer, a, n); err != nil {
			return err
		}
		peers = append(peers, u)
	}
	floor, mine := medians(bare), medians(plumbs)
	over := func(u usage) (wall, cpu float64) {
		return (u.wall - floor.wall).Seconds() * 1e3 / float64(n), (u.cpu - floor.cpu).Seconds() * 1e3 / float64(n)
	}
	wall, cpu := over(mine)
	figure := fmt.Sprintf("%.2f ms wall, %.2f ms CPU; %.2f s wall in all, %s", wall, cpu, mine.wall.Seconds(),
		mb(mine.peak))
	if len(peers) == 0 {
		b.report.add(what, figure)
	} else {
		theirs := medians(peers)
		theirWall, theirCPU := over(theirs)
		b.report.target(what, fmt.Sprintf("%.2f of skillgym's in wall time, %.2f in CPU time: %s", wall/theirWall,
			cpu/theirCPU, figure),
			fmt.Sprintf("<= %.2f of skillgym's", agentManyTarget), wall/theirWall <= agentManyTarget)
		b.report.add("  skillgym "+peer.version, fmt.Sprintf("%.2f ms wall, %.2f ms CPU; %.2f s wall in all, %s",
			theirWall, theirCPU, theirs.wall.Seconds(), mb(theirs.peak)))
	}
	b.report.add("  the agent alone, taken off", fmt.Sprintf("%.2f s wall, %.2f s CPU", floor.wall.Seconds(),
		floor.cpu.Seconds()))
	return nil
}

// spawn runs only the agent.
func (b *bench) spawn(ctx context.Context, a agentBench, n, parallel int) (usage, error) {
	out := filepath.Join(a.dir, "spawned")
	if err := os.MkdirAll(out, 0o700); err != nil {
		return usage{}, err
	}
	defer os.RemoveAll(out)
	u, err := execute(ctx, a.dir, append(b.environment(""), "BENCH_TRANSCRIPT="+a.transcript),
		b.self, "spawn", "-n", strconv.Itoa(n), "-parallel", strconv.Itoa(parallel), "-out", out, a.agent)
	return u, u.failure(err)
}

// agentNormalize measures how fast plumb converts transcripts, per agent, on one core: one with
// outputs of a realistic size, and one with many small records. It measures CPU time, so that a
// concurrent garbage collector counts. It subtracts the time of a small transcript.
func (b *bench) agentNormalize(ctx context.Context) error {
	size := 50_000_000 / b.scale
	for _, agent := range agents() {
		start, err := b.normalizeOften(ctx, agent, 300, 1_000)
		if err != nil {
			return err
		}
		for _, median := range []int{1_000, 300} {
			took, err := b.normalizeOften(ctx, agent, median, size)
			if err != nil {
				return err
			}
			rate := float64(size) / 1e6 / (took.cpu - start.cpu).Seconds()
			b.report.target(fmt.Sprintf("plumb normalize, %.0f MB of %s, median output of %d bytes", float64(size)/1e6,
				agent, median),
				fmt.Sprintf("%.0f MB per second of CPU, %.2f s wall, %s", rate, took.wall.Seconds(), mb(took.peak)),
				fmt.Sprintf(">= %.0f MB/s", agentRateTarget), rate >= agentRateTarget)
		}
	}
	return nil
}

// normalizeOften converts a transcript several times and returns the medians.
func (b *bench) normalizeOften(ctx context.Context, agent string, median, size int) (usage, error) {
	file := filepath.Join(b.dir, "transcript.jsonl")
	if err := b.transcript(ctx, agent, median, size, file); err != nil {
		return usage{}, err
	}
	all := make([]usage, b.rounds)
	for i := range all {
		var err error
		if all[i], err = b.normalize(ctx, agent, file); err != nil {
			return usage{}, err
		}
	}
	return medians(all), nil
}

// normalize converts a transcript and checks the final output of the report.
func (b *bench) normalize(ctx context.Context, agent, file string) (usage, error) {
	out, err := os.Create(filepath.Join(b.dir, "report.json"))
	if err != nil {
		return usage{}, err
	}
	u, err := executeTo(ctx, out, b.dir, b.environment(""), b.plumb, "normalize", "--agent", agent, "--stdout", file,
		"--exit-code", "0")
	if err = errors.Join(err, out.Close()); err == nil && u.code != 0 {
		err = fmt.Errorf("%w: plumb normalize --agent %s ended with code %d: %s", errWrong, agent, u.code, u.output)
	}
	if err != nil {
		return u, err
	}
	return u, b.counted(ctx, 0, "-report", out.Name())
}

// agentLarge measures the memory for one very large transcript, in three shapes, and for eight
// large ones at once.
func (b *bench) agentLarge(ctx context.Context) error {
	if !b.posing("a very large transcript") {
		return nil
	}
	dir := filepath.Join(b.dir, "agent-large")
	for _, shape := range []struct{ n, median, size int }{
		{1, 1_000_000, 200_000_000}, {1, 10_000, 200_000_000}, {1, 1_000, 200_000_000}, {8, 1_000, 10_000_000},
	} {
		size := shape.size / b.scale
		a, err := b.agentSetup(ctx, dir, shape.n, shape.n, shape.median, size)
		if err != nil {
			return err
		}
		u, err := b.runAgents(ctx, a, shape.n)
		_ = os.Remove(a.transcript) // the directory is removed later anyway
		if err != nil {
			return err
		}
		b.report.target(fmt.Sprintf("plumb run, %d of %.0f MB at once, median output of %d bytes, peak memory", shape.n,
			float64(size)/1e6, shape.median),
			fmt.Sprintf("%s; %.2f s wall, %.2f s CPU", mb(u.peak), u.wall.Seconds(), u.cpu.Seconds()),
			fmt.Sprintf("< %.0f MB", agentLargeTarget), float64(u.peak)/1e6 < agentLargeTarget)
	}
	return b.largePeer(ctx, 200_000_000/b.scale)
}
