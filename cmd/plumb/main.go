// Command plumb puts language models and coding agents to the test, and tells when they change.
package main

import (
	"context"
	"os"

	"github.com/plumb-eval/plumb/internal/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), cli.Process(os.Args[1:])))
}
