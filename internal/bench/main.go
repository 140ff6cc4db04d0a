// Command bench measures plumb as users run it: whole processes, against a fake model server in a
// separate process, with suites whose right results are known. "make bench" runs it;
// docs/performance.md explains the output.
//
// The program starts itself for its helpers: the model server, the bare loop that plumb is compared
// with, and the writer and checker of large files. So the measuring process stays small. It must,
// because Linux never reports a peak memory of a child below that of its parent.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes args and returns the exit code: 1 when plumb gave a wrong result, 2 when it could
// not be measured.
func run(args []string, stdout, stderr io.Writer) int {
	mode := ""
	if len(args) > 0 {
		mode = args[0]
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	switch mode {
	case "serve":
		return fakemodel.Main(args[1:], stdout, stderr)
	case "floor":
		err = floorMain(ctx, args[1:], stderr)
	case "generate":
		err = generateMain(args[1:], stderr)
	case "transcript":
		err = transcriptMain(args[1:], stderr)
	case "spawn":
		err = spawnMain(ctx, args[1:], stderr)
	case "compare":
		err = compareMain(args[1:], stdout, stderr)
	case "count":
		err = countMain(args[1:], stdout, stderr)
	case "check":
		err = checkMain(ctx, args[1:], stderr)
	default:
		err = drive(ctx, args, stdout, stderr)
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, flag.ErrHelp):
		return 2
	case errors.Is(err, errWrong):
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	default:
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
}

// errWrong marks a wrong result of plumb.
var errWrong = errors.New("wrong result")
