package main

import (
	"bufio"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/plumb-eval/plumb/internal/agent"
)

// agents lists the agents whose transcripts bench can generate.
func agents() []string { return agent.Types() }

// transcriptMain writes the output stream of an agent that thinks and runs commands until the stream has a given size.
func transcriptMain(args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench transcript", flag.ContinueOnError)
	fs.SetOutput(stderr)
	name := fs.String("agent", "claude-code", "agent whose stream is written")
	median := fs.Int("record", 1000, "median size of a command's output, in bytes")
	size := fs.Int("size", 100_000, "size of the stream, in bytes")
	out := fs.String("out", "transcript.jsonl", "file to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	return writeTranscript(*out, *name, *median, *size)
}

// finalAnswer is the end of every transcript.
const finalAnswer = "The answer is 42."

// outputSize returns the size of output i. The sizes have the distribution of internal/agent/testdata: many are small, half of
// them are under 1 KB, and 4 % have 35 KB. So a stream of 200 MB has about 117,000 records, of which 2 % have 35 KB.
func outputSize(i, median int) int {
	sizes := [...]int{
		100, 150, 200, 300, 400, 500, 600, 700, 800, 900, 950, 1000, 1000, 1100, 1300, 1500, 1700, 2000, 2400, 2900, 3500, 4300, 5500,
		8000, 35000,
	}
	return sizes[draw(i, 1)%uint64(len(sizes))] * median / 1000
}

// commandLine returns command i. It has no characters that JSON or a shell must escape.
func commandLine(i int) string {
	commands := [...]string{
		"go test ./p%d", "cd /ws/p%d && cat main.go | head -50", "grep -rn Handler p%d/server.go p%d/main.go", "sed -n 1,120p p%d/service.go",
	}
	return strings.ReplaceAll(commands[i%len(commands)], "%d", strconv.Itoa(i))
}

// The files in streams have the records of the agents' streams. A blank line separates the start, a thought, a command with
// its result, and the end. %d stands for the number of the record, %c for a command, %q for a text as JSON.
//
//go:embed streams
var streams embed.FS

// writeTranscript writes a transcript of about size bytes. Each fourth command follows a thought, whose size is a quarter of
// an output's. The content depends on the arguments only.
func writeTranscript(file, agent string, median, size int) (err error) {
	if agent == "qwen" {
		agent = "claude-code" // it has the same format
	}
	stream, err := streams.ReadFile("streams/" + agent + ".txt")
	if err != nil {
		return fmt.Errorf("no transcript format for agent %s: %w", agent, err)
	}
	records := strings.SplitAfter(string(stream), "\n\n")
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriterSize(f, 1<<18)
	left := size - len(records[3])
	put := func(i, text int, record string) {
		const line = `ok  \tgithub.com/example/\"shop\"/cart\t0.412s — 17 tests\n`
		text = min(text, left-len(record))
		output := `"` + strings.Repeat(line, max(1, text/len(line))) + `"`
		record = strings.TrimSuffix(record, "\n")
		n, _ := strings.NewReplacer("%d", strconv.Itoa(i), "%c", commandLine(i), "%q", output).WriteString(w, record)
		left -= n
	}
	put(0, 0, records[0])
	for i := 0; left > 0; i++ {
		if i%4 == 0 {
			put(i, outputSize(i, median)/4, records[1])
		}
		put(i, outputSize(i, median), records[2])
	}
	put(0, 0, records[3]+"\n")
	return w.Flush() // it also returns an earlier error
}
