package modelapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/plumb-eval/plumb"
)

// replyRow is one row of the tables of docs/providers.md with the decisions about replies.
type replyRow struct {
	section, member, state, reply, decision, outcome string
}

// replyRows reads the tables of docs/providers.md.
func replyRows(tb testing.TB) []replyRow {
	tb.Helper()
	doc, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		tb.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "\n## How Plumb interprets a reply\n")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		tb.Fatal("docs/providers.md has no section on the interpretation of replies")
	}
	row := regexp.MustCompile("^\\| (.+?) \\| (.+?) \\| `(.*)` \\| (answer|retry|error) \\| `(.*)` \\|$")
	var rows []replyRow
	var section string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if after, ok := strings.CutPrefix(line, "### "); ok {
			section = after
		}
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.HasPrefix(line, "| member ") {
			continue
		}
		m := row.FindStringSubmatch(line)
		if m == nil {
			tb.Errorf("not a row: %s", line)
			continue
		}
		rows = append(rows, replyRow{section, m[1], m[2], m[3], m[4], m[5]})
	}
	return rows
}

// formats lists the wire formats by the titles of their tables. good is a reply that is an answer.
func formats(tb testing.TB) map[string]struct{ provider, api, good string } {
	tb.Helper()
	return map[string]struct{ provider, api, good string }{
		"Chat completions: OpenAI, Azure, and compatible servers": {"openai", "chat", string(recorded(tb, "chat.json"))},
		"Responses":              {"openai", "responses", string(recorded(tb, "responses.json"))},
		"Anthropic messages":     {"anthropic", "", string(recorded(tb, "anthropic.json"))},
		"Google generateContent": {"google", "", string(recorded(tb, "google.json"))},
	}
}

// TestRepliesOfTheDocs serves each reply of docs/providers.md, and holds Plumb to the decision that
// stands beside it: in whole, and as the first reply before a good one.
func TestRepliesOfTheDocs(t *testing.T) {
	t.Parallel()
	rows, wire := replyRows(t), formats(t)
	if len(rows) < 200 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		t.Run(row.section+"/"+row.member+" "+row.state, func(t *testing.T) {
			t.Parallel()
			ran := false
			for title, w := range wire {
				if title == row.section || row.section == "Any wire format" {
					ran = true
					checkReply(t, row, Config{Provider: w.provider, API: w.api, Model: "m"}, w.good)
				}
			}
			switch row.section {
			case "Embeddings: OpenAI, Azure, and compatible servers":
				checkVectors(t, row, "openai")
			case "Embeddings: Google":
				checkVectors(t, row, "google")
			default:
				if !ran {
					t.Errorf("no wire format is called %q", row.section)
				}
			}
		})
	}
}

// served starts a server that gives the replies in turn, the last one for ever, and counts the
// requests.
func served(t *testing.T, replies ...string) (address string, requests *atomic.Int64) {
	t.Helper()
	requests = new(atomic.Int64)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := min(int(requests.Add(1)), len(replies))
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(replies[n-1]))
	}))
	t.Cleanup(srv.Close)
	return srv.URL, requests
}

// checkRequests checks that a reply was asked for as often as the decision says. err is what came
// of it in the end.
func checkRequests(t *testing.T, row replyRow, got int64, err error) {
	t.Helper()
	var f *plumb.Failure
	if row.decision != "answer" && (!errors.As(err, &f) || !strings.Contains(f.Message, row.outcome)) {
		t.Fatalf("error %v, want %q in it", err, row.outcome)
	}
	want := int64(1)
	if row.decision == "retry" {
		want = defaultMaxAttempts
		if f.HTTPStatus == http.StatusTooManyRequests || f.HTTPStatus == statusOverloaded {
			want *= throttleFactor
		}
	}
	if got != want {
		t.Errorf("%d requests, want %d", got, want)
	}
}

func checkReply(t *testing.T, row replyRow, cfg Config, good string) {
	t.Helper()
	ask := func(replies ...string) (*plumb.SessionReport, int64, error) {
		address, requests := served(t, replies...)
		cfg.BaseURL, cfg.APIKey = address, "sk-test-0123456789"
		cfg.Transport = NewTransport(TransportOptions{Backoff: 1})
		defer cfg.Transport.Close()
		m, err := New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		rep, err := m.Run(t.Context(), say("What is the capital of France?"))
		return rep, requests.Load(), err
	}
	rep, requests, err := ask(row.reply)
	checkRequests(t, row, requests, err)
	if row.decision == "answer" {
		if err != nil {
			t.Fatal(err)
		}
		checkAnswer(t, row, rep)
		return
	}
	if rep != nil {
		t.Fatalf("a report: %+v", rep)
	}
	rep, requests, err = ask(row.reply, good)
	switch {
	case row.decision == "error" && (err == nil || requests != 1):
		t.Errorf("before a good reply: %v, %d requests", err, requests)
	case row.decision == "retry" && (err != nil || requests != 2 || rep.FinalOutput == ""):
		t.Errorf("before a good reply: %v, %d requests", err, requests)
	}
}

// checkAnswer compares a report with the outcome of a row: the text, the finish reason, and what a
// note says.
func checkAnswer(t *testing.T, row replyRow, rep *plumb.SessionReport) {
	t.Helper()
	answer, note, _ := strings.Cut(row.outcome, "; ")
	text, finish, given := strings.Cut(answer, ", ")
	if !given {
		finish = "stop"
	}
	var want string
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatalf("outcome %q: %v", row.outcome, err)
	}
	if rep.FinalOutput != want || string(rep.FinishReason) != finish {
		t.Errorf("answer %q, %s; want %q, %s", rep.FinalOutput, rep.FinishReason, want, finish)
	}
	told := strings.Join(rep.Notes, "\n")
	if (note == "") != (told == "") || !strings.Contains(told, note) {
		t.Errorf("notes %q, want %q", told, note)
	}
	if rep.FinishReason == plumb.FinishToolCalls && len(rep.Events) == 0 {
		t.Error("no event for the call of a tool")
	}
	if row.member == "`usage`" && note == "" && rep.Usage.TotalTokens != nil {
		t.Errorf("usage %+v", rep.Usage)
	}
}

func checkVectors(t *testing.T, row replyRow, provider string) {
	t.Helper()
	address, requests := served(t, row.reply)
	tr := NewTransport(TransportOptions{Backoff: 1})
	defer tr.Close()
	e, err := NewEmbedder(Config{Provider: provider, BaseURL: address, APIKey: "sk-test-0123456789", Transport: tr})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Embed(t.Context(), []string{"a", "b"})
	checkRequests(t, row, requests.Load(), err)
	if row.decision != "answer" {
		return
	}
	var want [][]float32
	if err := errors.Join(err, json.Unmarshal([]byte(row.outcome), &want)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Vectors); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.Usage.InputTokens != nil {
		t.Errorf("usage %d", *got.Usage.InputTokens)
	}
}

// TestWholeReplyOfALongList: a reply of very many parts is read in a time that grows with its
// length, not with its square.
func TestWholeReplyOfALongList(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector, and all of it is one goroutine")
	}
	t.Parallel()
	const parts = 200_000
	body := `{"content":[` + strings.Join(slices.Repeat([]string{`{"type":"text","text":"0123456789"}`}, parts), ",") + `],"stop_reason":"end_turn"}`
	r, err := anthropic{}.decode([]byte(body))
	if err != nil || len(r.text) != 10*parts {
		t.Errorf("%d bytes, %v", len(r.text), err)
	}
}
