package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"
)

// The targets, on two cores.
const (
	startTarget    = 11 * time.Millisecond // of processor time
	plainTarget    = 46.0                  // MB
	releaseTarget  = 34.0                  // MB
	replayTarget   = 60 * time.Millisecond
	smallTarget    = 100.0
	largeTarget    = 300.0 // MB
	hashTarget     = 60.0  // MB/s
	validateTarget = 20 * time.Second
)

// report collects the output.
type report struct {
	rows  []row
	wrong []string
}

type row struct {
	what, figure, target string
	met                  bool
}

func (r *report) add(what, figure string) { r.rows = append(r.rows, row{what: what, figure: figure}) }

func (r *report) target(what, figure, target string, met bool) {
	r.rows = append(r.rows, row{what, figure, target, met})
}

func (r *report) write(w io.Writer, machine string) {
	fmt.Fprintln(w, machine)
	fmt.Fprintln(w)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "what\tmeasured\ttarget\t")
	for _, row := range r.rows {
		verdict := ""
		switch {
		case row.target == "":
		case row.met:
			verdict = "met"
		default:
			verdict = "MISSED"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", row.what, row.figure, row.target, verdict)
	}
	_ = t.Flush() // the underlying writer is a terminal or a file
	for _, wrong := range r.wrong {
		fmt.Fprintln(w, "\nWRONG RESULT:", wrong)
	}
}

// start measures the duration of plumb version.
func (b *bench) start(ctx context.Context) error {
	u, err := b.repeated(ctx, 20, 0, "version")
	if err != nil {
		return err
	}
	b.report.target("plumb version, median of 20", fmt.Sprintf("%s, %s CPU", ms(u.wall), ms(u.cpu)),
		"< "+ms(startTarget)+" CPU", u.cpu < startTarget)
	return nil
}

// size measures the program as "go build" makes it and as it is released.
func (b *bench) size(ctx context.Context) error {
	for _, kind := range []struct {
		name   string
		flags  []string
		target float64
	}{
		{"go build", nil, plainTarget},
		{"go build -ldflags '-s -w' -trimpath", []string{"-trimpath", "-ldflags=-s -w"}, releaseTarget},
	} {
		file := filepath.Join(b.dir, "sized")
		if err := b.build(ctx, file, kind.flags...); err != nil {
			return err
		}
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		size := float64(info.Size()) / 1e6
		b.report.target("size of the program, "+kind.name, fmt.Sprintf("%.1f MB", size),
			fmt.Sprintf("< %.0f MB", kind.target), size < kind.target)
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// replay measures a run of one case that calls no model.
func (b *bench) replay(ctx context.Context) error {
	suite, answers, err := b.generate(ctx, 1)
	if err != nil {
		return err
	}
	srv, err := b.serve(ctx, answers, 0)
	if err != nil {
		return err
	}
	defer srv.stop()
	dir := filepath.Join(b.dir, "replay")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	u, err := execute(ctx, dir, b.environment(srv.url), b.runCommand(suite, filepath.Join(dir, "summary.json"), 1)...)
	if err != nil {
		return err
	}
	runs, err := filepath.Glob(filepath.Join(dir, ".plumb", "runs", "*"))
	runs = slices.DeleteFunc(runs, func(p string) bool { i, err := os.Lstat(p); return err != nil || !i.IsDir() })
	if err != nil || len(runs) == 0 || u.code > 1 {
		return fmt.Errorf("%w: no run to replay: code %d: %s", errWrong, u.code, u.output)
	}
	one, err := b.repeated(ctx, 20, u.code, "run", suite, "--replay", runs[0])
	if err != nil {
		return err
	}
	b.report.target("plumb run, one case on replay, median of 20", fmt.Sprintf("%s, %s CPU", ms(one.wall), ms(one.cpu)),
		"< "+ms(replayTarget), one.wall < replayTarget)
	return nil
}

// repeated returns the medians of several runs.
func (b *bench) repeated(ctx context.Context, n, code int, args ...string) (usage, error) {
	all := make([]usage, n)
	for i := range all {
		var err error
		if all[i], err = b.plain(ctx, code, args...); err != nil {
			return usage{}, err
		}
	}
	return medians(all), nil
}

func medians(all []usage) usage {
	median := func(value func(usage) int64) int64 {
		values := make([]int64, len(all))
		for i, u := range all {
			values[i] = value(u)
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return usage{
		wall: time.Duration(median(func(u usage) int64 { return int64(u.wall) })),
		cpu:  time.Duration(median(func(u usage) int64 { return int64(u.cpu) })),
		peak: median(func(u usage) int64 { return u.peak }),
	}
}

// latency compares the time of whole runs with that of the bare loop. A first run of plumb, which
// is not measured, lets it remember the concurrency that the server accepts.
func (b *bench) latency(ctx context.Context) error {
	const parallel = 256
	for _, of := range []struct {
		n      int
		wait   time.Duration
		target float64 // times the bare loop
	}{{1_000, 200 * time.Millisecond, 1.10}, {10_000, 200 * time.Millisecond, 1.10}, {10_000, 20 * time.Millisecond, 1.3}} {
		n, wait := of.n/b.scale, of.wait
		var floors, plumbs []usage
		for round := range b.rounds + 1 {
			p, err := b.runPlumb(ctx, n, parallel, wait)
			if err != nil {
				return err
			}
			f, err := b.runFloor(ctx, n, parallel, wait)
			if err != nil {
				return err
			}
			if round > 0 {
				floors, plumbs = append(floors, f.tool), append(plumbs, p.tool)
			}
		}
		f, p := medians(floors), medians(plumbs)
		ratio := float64(p.wall) / float64(f.wall)
		b.report.target(fmt.Sprintf("%d cases at %s, 256 in flight", n, ms(wait)),
			fmt.Sprintf("%.2f s, %.3f of the bare loop, %s", p.wall.Seconds(), ratio, mb(p.peak)),
			fmt.Sprintf("<= %.2f of the bare loop", of.target), ratio <= of.target)
		ideal := float64(n) * wait.Seconds() / parallel
		b.report.add("  the bare loop", fmt.Sprintf("%.2f s, %.3f of the ideal %.2f s", f.wall.Seconds(),
			f.wall.Seconds()/ideal, ideal))
	}
	return nil
}

// cpu compares the CPU time per case with that of the bare loop, in alternating rounds.
func (b *bench) cpu(ctx context.Context) error {
	const parallel = 64
	for _, of := range []struct {
		n      int
		target float64 // times the bare loop
	}{{1_000, 3.0}, {10_000, 2.5}} {
		n := of.n / b.scale
		var floors, plumbs, servers []usage
		for range b.rounds {
			f, err := b.runFloor(ctx, n, parallel, 0)
			if err != nil {
				return err
			}
			p, err := b.runPlumb(ctx, n, parallel, 0)
			if err != nil {
				return err
			}
			floors, plumbs, servers = append(floors, f.tool), append(plumbs, p.tool), append(servers, p.server)
		}
		f, p, s := medians(floors), medians(plumbs), medians(servers)
		ratio := float64(p.cpu) / float64(f.cpu)
		per := func(d time.Duration) string { return fmt.Sprintf("%.1f µs", float64(d.Microseconds())/float64(n)) }
		b.report.target(fmt.Sprintf("%d cases at 0 ms, 64 in flight, CPU a case", n),
			fmt.Sprintf("%s, %.2f of the bare loop; %.2f s wall", per(p.cpu), ratio, p.wall.Seconds()),
			fmt.Sprintf("<= %.1f of the bare loop", of.target), ratio <= of.target)
		b.report.add("  the bare loop", fmt.Sprintf("%s; %.2f s wall, %s", per(f.cpu), f.wall.Seconds(), mb(f.peak)))
		b.report.add("  the server, its start included", per(s.cpu))
		b.memoryRow(n, p.peak, smallTarget)
	}
	return nil
}

// memory measures the peak of a large run. The peak of a small run is measured with the CPU time.
func (b *bench) memory(ctx context.Context) error {
	n := 100_000 / b.scale
	m, err := b.runPlumb(ctx, n, 256, 0)
	if err != nil {
		return err
	}
	b.memoryRow(n, m.tool.peak, largeTarget)
	b.report.add("  time", fmt.Sprintf("%.2f s wall, %.2f s CPU", m.tool.wall.Seconds(), m.tool.cpu.Seconds()))
	return nil
}

func (b *bench) memoryRow(n int, peak int64, target float64) {
	what := fmt.Sprintf("%d cases, peak memory", n)
	if peak == 0 {
		b.report.add(what, "not known on this system")
		return
	}
	b.report.target(what, mb(peak), fmt.Sprintf("< %.0f MB", target), float64(peak)/1e6 < target)
}

// hash measures the computation of the suite hash.
func (b *bench) hash(ctx context.Context) error {
	suite, _, err := b.generate(ctx, 100_000/b.scale)
	if err != nil {
		return err
	}
	info, err := os.Stat(suite)
	if err != nil {
		return err
	}
	u, err := b.repeated(ctx, b.rounds, 0, "suite", "hash", suite)
	if err != nil {
		return err
	}
	rate := float64(info.Size()) / 1e6 / u.wall.Seconds()
	b.report.target(fmt.Sprintf("plumb suite hash of %.0f MB", float64(info.Size())/1e6),
		fmt.Sprintf("%.0f MB/s, %.2f s wall, %.2f s CPU, %s", rate, u.wall.Seconds(), u.cpu.Seconds(), mb(u.peak)),
		fmt.Sprintf(">= %.0f MB/s", hashTarget), rate >= hashTarget)
	return nil
}

// validate measures loading a very large suite.
func (b *bench) validate(ctx context.Context) error {
	n := 1_000_000 / b.scale
	suite := filepath.Join(b.dir, "large.jsonl")
	if err := b.helper(ctx, "generate", "-n", fmt.Sprint(n), "-suite", suite); err != nil {
		return err
	}
	u, err := b.plain(ctx, 0, "validate", suite)
	if err != nil {
		return err
	}
	b.report.target(fmt.Sprintf("plumb validate, %d cases", n),
		fmt.Sprintf("%.2f s wall, %.2f s CPU, %s", u.wall.Seconds(), u.cpu.Seconds(), mb(u.peak)),
		fmt.Sprintf("< %.0f s", validateTarget.Seconds()), u.wall < validateTarget)
	return nil
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

func mb(bytes int64) string {
	if bytes == 0 {
		return "peak not known"
	}
	return fmt.Sprintf("%.0f MB", float64(bytes)/1e6)
}
