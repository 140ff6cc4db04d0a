package redact_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/redact"
)

func benchSecrets() []redact.Secret {
	return []redact.Secret{
		{"OPENAI_API_KEY", "sk-proj-4Qx7ZpT9vB2nLkRw8YcM1sDfGhJ3aE6uXo5iPqWtNzCbVyKr0HmS"},
		{"ANTHROPIC_API_KEY", "sk-ant-api03-9fKd2LmNq7RsTv4WxYz1AbCeGh6JkPu8Ei3Oo5Qy_-Bn0VcXwZtS2MgHpAA"},
		{"GEMINI_API_KEY", "AIzaSyB7x2Kf9QmT4vLw8NcR1pZs6HdJ3gYuE0o"},
		{"PASSWORD", "p@ss/w+rd\"<7>"},
		{
			"AUTHORIZATION",
			"Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
		},
	}
}

// benchText is typical text of an agent: prose and code, not encoded.
func benchText() string {
	return strings.Repeat(
		"The train arrives at 14:35, so the answer is \"14:35\".\n\nfunc (s *server) Close(ctx context.Context) error {\n\treturn errors.Join(s.listener.Close(), s.wait(ctx)) // see internal/server/close_test.go\n}\n",
		8,
	)
}

// benchLine is a log line of about 2 KB: an event with a session report.
func benchLine() []byte {
	answer := strings.Repeat(
		"The train arrives at 14:35, so the answer is \"14:35\".\nIt takes 80 minutes & costs 20% less. ", 12,
	)
	line := fmt.Sprintf(`{"type":"session-finished","at":"2026-11-20T12:00:00.123456789Z","case":"reasoning-017","runner":"openai:gpt-5","repetition":1,"session":1,"report":{"runner":{"id":"openai:gpt-5","pathKey":"openai-gpt-5--0a1b2c3d"},"prompt":"When?","usage":{"inputTokens":212,"outputTokens":96},"finalOutput":%q,"startedAt":"2026-11-20T11:59:59.000000000Z","durationMs":1123,"requestId":"req_011CVKx9yQm8wZ4sT2nB7pLd","args":%q}}`,
		answer, `{"path":"a\/b","text":"two\nlines \u00e9"}`)
	return []byte(line + "\n")
}

func BenchmarkBytes(b *testing.B) {
	r := redact.New(benchSecrets())
	line := benchLine()
	nested, _ := json.Marshal(string(line))
	for _, bench := range []struct {
		name string
		text []byte
	}{
		{"clean", line},
		{"plain", []byte(benchText())},
		{"found", append([]byte("sk-proj-4Qx7ZpT9vB2nLkRw8YcM1sDfGhJ3aE6uXo5iPqWtNzCbVyKr0HmS"), line...)},
		{"nested", nested},
		{"percent", []byte(url.QueryEscape(string(line)))},
		{"backslashes", []byte(strings.Repeat(`\`, 2000))},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.text)))
			b.ReportAllocs()
			text := string(bench.text)
			for b.Loop() {
				r.String(text)
			}
		})
	}
	b.Run("many", func(b *testing.B) {
		var many []redact.Secret
		for i := range 30 {
			value := sha256.Sum256([]byte{byte(i)})
			many = append(
				many,
				redact.Secret{Name: fmt.Sprint(i), Value: "key-" + base64.RawURLEncoding.EncodeToString(value[:])},
			)
		}
		r := redact.New(many)
		text := benchText()
		b.SetBytes(int64(len(text)))
		b.ReportAllocs()
		for b.Loop() {
			r.String(text)
		}
	})
	b.Run("writer", func(b *testing.B) {
		b.SetBytes(int64(len(line)))
		b.ReportAllocs()
		w := r.Writer(io.Discard)
		for b.Loop() {
			w.Write(line)
		}
	})
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		redact.New(benchSecrets())
	}
}

func TestCleanTextCostsNoMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector, a sync.Pool drops what it is given at random")
	}
	r := redact.New(benchSecrets())
	text := string(benchLine())
	if n := testing.AllocsPerRun(100, func() { r.String(text) }); n != 0 {
		t.Errorf("String made %v allocations", n)
	}
}
