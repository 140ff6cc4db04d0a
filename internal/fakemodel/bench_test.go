package fakemodel

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// BenchmarkChat measures what the server itself costs, without a network: it must not show beside
// the tool it measures.
func BenchmarkChat(b *testing.B) {
	answers := make([]Answer, 10_000)
	bodies := make([]string, len(answers))
	for i := range answers {
		prompt := "Case " + strconv.Itoa(i) + ": " + strings.Repeat("what is asked ", 20)
		answers[i] = Answer{Prompt: prompt, Answer: strings.Repeat("an answer ", 20)}
		bodies[i] = `{"model":"gpt-4o","messages":[{"role":"user","content":"` + prompt +
			`"}],"temperature":0,"seed":42}`
	}
	s := New(Behavior{Answers: answers})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		i++
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(bodies[i%len(bodies)]))
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
