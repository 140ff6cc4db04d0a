package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
)

// spawnMain only starts a program many times, some concurrently, each with its output in a file. It
// is the lower bound for any tool that runs agents.
func spawnMain(ctx context.Context, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench spawn", flag.ContinueOnError)
	fs.SetOutput(stderr)
	n := fs.Int("n", 500, "how often")
	parallel := fs.Int("parallel", 8, "how many at once")
	dir := fs.String("out", ".", "directory for the output")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return errors.New("spawn: no program")
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan int)
	var wg sync.WaitGroup
	for range *parallel {
		wg.Go(func() {
			for i := range work {
				if err := spawnOne(ctx, filepath.Join(*dir, strconv.Itoa(i)), fs.Args()); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range *n {
		work <- i
	}
	close(work)
	wg.Wait()
	return context.Cause(ctx)
}

func spawnOne(ctx context.Context, out string, argv []string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = f
	if err := errors.Join(cmd.Run(), f.Close()); err != nil {
		return fmt.Errorf("run %s: %w", argv[0], err)
	}
	return nil
}
