package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

// The bare loop does only what any tool must do for each case. It reads the suite, sends the same
// requests with net/http, decodes and checks the replies, and writes one line per case. It has no
// store, retries, progress or report.

type floorRequest struct {
	Model               string         `json:"model"`
	Messages            []floorMessage `json:"messages"`
	MaxCompletionTokens int            `json:"max_completion_tokens"`
	Temperature         float64        `json:"temperature"`
	Seed                int            `json:"seed"`
}

type floorMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type floorReply struct {
	Model             string `json:"model"`
	SystemFingerprint string `json:"system_fingerprint"`
	Choices           []struct {
		Message      floorMessage `json:"message"`
		FinishReason string       `json:"finish_reason"`
	} `json:"choices"`
	Usage struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

type floorResult struct {
	ID     string `json:"id"`
	Passed bool   `json:"passed"`
	Output string `json:"output"`
	Model  string `json:"model"`
	Tokens int    `json:"tokens"`
	Finish string `json:"finish"`
}

func floorMain(ctx context.Context, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench floor", flag.ContinueOnError)
	fs.SetOutput(stderr)
	suite := fs.String("suite", "", "suite file")
	url := fs.String("url", "", "address of the model server")
	parallel := fs.Int("parallel", 64, "requests in flight")
	out := fs.String("out", "", "results file to write")
	if err := fs.Parse(args); err != nil {
		return err
	}
	cases, err := readSuite(*suite)
	if err != nil {
		return fmt.Errorf("read %s: %w", *suite, err)
	}
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	err = floor(ctx, cases, *url, *parallel, f)
	return errors.Join(err, f.Close())
}

func readSuite(file string) ([]benchCase, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cases []benchCase
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			ID        string          `json:"id"`
			Input     string          `json:"input"`
			Ideal     json.RawMessage `json:"ideal"`
			Assertion suiteAssertion  `json:"assertion"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, err
		}
		c := benchCase{id: l.ID, kind: l.Assertion.Type, prompt: l.Input}
		if len(l.Ideal) > 0 && l.Ideal[0] == '[' {
			err = json.Unmarshal(l.Ideal, &c.ideal)
		} else if len(l.Ideal) > 0 {
			c.ideal = make([]string, 1)
			err = json.Unmarshal(l.Ideal, &c.ideal[0])
		}
		if err != nil {
			return nil, err
		}
		cases = append(cases, c)
	}
	return cases, lines.Err()
}

func floor(ctx context.Context, cases []benchCase, url string, parallel int, w io.Writer) error {
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: parallel, MaxConnsPerHost: parallel,
		DisableCompression: true,
	}}
	work, results := make(chan *benchCase, parallel), make(chan floorResult, parallel)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() {
			for c := range work {
				r, err := floorOne(ctx, client, url, c)
				if err != nil {
					cancel(fmt.Errorf("case %s: %w", c.id, err))
				}
				results <- r
			}
		})
	}
	go func() {
		for i := range cases {
			work <- &cases[i]
		}
		close(work)
		wg.Wait()
		close(results)
	}()
	out := bufio.NewWriterSize(w, 1<<16)
	e := json.NewEncoder(out)
	var bad error
	for r := range results {
		if err := e.Encode(r); err != nil && bad == nil {
			bad = err
		}
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.Join(bad, out.Flush())
}

func floorOne(ctx context.Context, client *http.Client, url string, c *benchCase) (floorResult, error) {
	body, err := json.Marshal(floorRequest{
		Model: model, Messages: []floorMessage{{"user", c.prompt}}, MaxCompletionTokens: 1000, Seed: 42,
	})
	if err != nil {
		return floorResult{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return floorResult{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+apiKey)
	resp, err := client.Do(req)
	if err != nil {
		return floorResult{}, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return floorResult{}, err
	}
	if resp.StatusCode != http.StatusOK {
		return floorResult{}, fmt.Errorf("status %s: %s", resp.Status, data)
	}
	var reply floorReply
	if err := json.Unmarshal(data, &reply); err != nil {
		return floorResult{}, err
	}
	if len(reply.Choices) != 1 {
		return floorResult{}, errors.New("reply without a choice")
	}
	answer := reply.Choices[0].Message.Content
	return floorResult{
		ID: c.id, Passed: c.check(answer), Output: answer, Model: reply.Model,
		Tokens: reply.Usage.PromptTokens + reply.Usage.CompletionTokens, Finish: reply.Choices[0].FinishReason,
	}, nil
}

// checkMain compares results with the generated suite, and the server's figures with the number of
// cases.
func checkMain(ctx context.Context, args []string, stderr io.Writer) error {
	fs := flag.NewFlagSet("bench check", flag.ContinueOnError)
	fs.SetOutput(stderr)
	n := fs.Int("n", 0, "number of cases")
	summary := fs.String("summary", "", "plumb's json-summary")
	results := fs.String("results", "", "the bare loop's results")
	url := fs.String("url", "", "address of the model server")
	if err := fs.Parse(args); err != nil {
		return err
	}
	outcomes := make(map[string]string, *n)
	var err error
	if *summary != "" {
		err = readSummary(*summary, outcomes)
	} else {
		err = readResults(*results, outcomes)
	}
	if err != nil {
		return fmt.Errorf("%w: read the results: %w", errWrong, err)
	}
	if len(outcomes) != *n {
		return fmt.Errorf("%w: results of %d cases, want %d", errWrong, len(outcomes), *n)
	}
	for i := range *n {
		if got, want := outcomes[caseID(i)], outcomeOf(passes(i)); got != want {
			return fmt.Errorf("%w: case %s is %q, want %q", errWrong, caseID(i), got, want)
		}
	}
	return checkServer(ctx, *url, *n)
}

// checkServer checks that the server received each prompt exactly once and no other requests.
func checkServer(ctx context.Context, url string, n int) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/fakemodel/stats", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("ask the server for its figures: %w", err)
	}
	defer resp.Body.Close()
	var stats fakemodel.Stats
	if err := json.NewDecoder(resp.Body).Decode(&stats); err != nil {
		return fmt.Errorf("read the server's figures: %w", err)
	}
	if stats.Total() != int64(n) || len(stats.Prompts) != n || stats.Answered != int64(n) || stats.Unprepared != 0 {
		return fmt.Errorf("%w: the server saw %d requests with %d prompts and answered %d, %d of them unprepared; "+
			"want %d of each, and none unprepared",
			errWrong, stats.Total(), len(stats.Prompts), stats.Answered, stats.Unprepared, n)
	}
	return nil
}

// readSummary reads the outcome of each case from a json-summary of plumb, or of skillgym, which
// has no outcomes.
func readSummary(file string, into map[string]string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	var doc struct {
		Cases []struct {
			CaseID        string `json:"caseId"`
			RunnerResults []struct {
				Outcome string `json:"outcome"`
				Passed  bool   `json:"passed"`
			} `json:"runnerResults"`
		} `json:"cases"`
	}
	if err := json.NewDecoder(bufio.NewReaderSize(f, 1<<18)).Decode(&doc); err != nil {
		return err
	}
	for _, c := range doc.Cases {
		if len(c.RunnerResults) != 1 {
			return fmt.Errorf("case %s has %d results", c.CaseID, len(c.RunnerResults))
		}
		into[c.CaseID] = c.RunnerResults[0].Outcome
		if into[c.CaseID] == "" {
			into[c.CaseID] = outcomeOf(c.RunnerResults[0].Passed)
		}
	}
	return nil
}

func readResults(file string, into map[string]string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for d := json.NewDecoder(bufio.NewReader(f)); ; {
		var r floorResult
		err := d.Decode(&r)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		into[r.ID] = outcomeOf(r.Passed)
	}
}

func outcomeOf(passed bool) string {
	if passed {
		return "pass"
	}
	return "fail"
}
