// Command plumb puts language models and coding agents to the test, and tells when they change.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/plumb-eval/plumb/internal/cli"
)

func main() {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(cli.Main(context.Background(), cli.Process(os.Args[1:], signals)))
}
