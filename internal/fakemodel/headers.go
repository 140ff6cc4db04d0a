package fakemodel

import (
	"net/http"
	"strconv"
	"time"

	"github.com/plumb-eval/plumb/internal/wire"
)

// token returns n letters and digits that are unique on the server with high probability.
func (x *exchange) token(n int) string {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	b := make([]byte, n)
	h := uint64(0)
	for i := range b {
		if i%10 == 0 {
			h = mix(x.s.options.Seed, x.id, uint64(i)+uint64(n)<<8)
		}
		b[i] = letters[h%uint64(len(letters))]
		h /= uint64(len(letters))
	}
	return string(b)
}

// hexToken is token in hexadecimal digits.
func (x *exchange) hexToken(n int) string {
	b := make([]byte, 0, n+16)
	for i := uint64(1); len(b) < n; i++ {
		b = append(b, hex(mix(x.s.options.Seed, x.id, i<<32))...)
	}
	return string(b[:n])
}

// uuid is the id of the request in Microsoft's form.
func (x *exchange) uuid() string {
	t := x.hexToken(32)
	return t[:8] + "-" + t[8:12] + "-" + t[12:16] + "-" + t[16:20] + "-" + t[20:]
}

// providerHeaders sets the headers that all replies of the provider have.
func (x *exchange) providerHeaders(h http.Header) {
	elapsed := strconv.FormatInt(time.Since(x.now).Milliseconds(), 10)
	switch x.ask.Provider {
	case wire.OpenAI:
		h["X-Request-Id"] = []string{"req_" + x.hexToken(32)}
		h["Openai-Organization"] = []string{"plumb-fake"}
		h["Openai-Version"] = []string{"2020-10-01"}
		h["Openai-Processing-Ms"] = []string{elapsed}
		x.limitHeaders(h)
	case wire.Azure:
		id := []string{x.uuid()}
		h["Apim-Request-Id"], h["X-Request-Id"] = id, id
		h["X-Ms-Region"] = []string{"East US"}
		x.limitHeaders(h)
	case wire.Anthropic:
		x.anthropicHeaders(h)
	case wire.Google:
		h["Server"] = []string{"scaffolding on HTTPServer2"}
		h["Server-Timing"] = []string{"gfet4t7; dur=" + elapsed}
		h["Vary"] = []string{"Origin", "X-Origin", "Referer"}
	default: // Ollama has none
	}
}

// limits returns the requests allowed per minute, and the remaining number.
func (x *exchange) limits() (limit, left int) {
	limit = x.s.options.RatePerMinute
	if limit <= 0 {
		return 30000, 29999
	}
	x.s.mu.Lock()
	defer x.s.mu.Unlock()
	return limit, int(x.s.bucket.tokens)
}

func (x *exchange) limitHeaders(h http.Header) {
	limit, left := x.limits()
	h["X-Ratelimit-Limit-Requests"] = []string{strconv.Itoa(limit)}
	h["X-Ratelimit-Remaining-Requests"] = []string{strconv.Itoa(left)}
	h["X-Ratelimit-Reset-Requests"] = []string{strconv.Itoa((limit-left)*60000/limit) + "ms"}
	h["X-Ratelimit-Limit-Tokens"] = []string{"150000000"}
	h["X-Ratelimit-Remaining-Tokens"] = []string{"149999000"}
	h["X-Ratelimit-Reset-Tokens"] = []string{"0s"}
}

func (x *exchange) anthropicHeaders(h http.Header) {
	limit, left := x.limits()
	reset := time.Now().Add(time.Duration(limit-left) * time.Minute / time.Duration(limit)).UTC().Format(time.RFC3339)
	h["Request-Id"] = []string{x.requestID()}
	h["Anthropic-Organization-Id"] = []string{"00000000-0000-4000-8000-000000000000"}
	h["Anthropic-Ratelimit-Requests-Limit"] = []string{strconv.Itoa(limit)}
	h["Anthropic-Ratelimit-Requests-Remaining"] = []string{strconv.Itoa(left)}
	h["Anthropic-Ratelimit-Requests-Reset"] = []string{reset}
	h["Anthropic-Ratelimit-Input-Tokens-Limit"] = []string{"2000000"}
	h["Anthropic-Ratelimit-Input-Tokens-Remaining"] = []string{"1999000"}
	h["Anthropic-Ratelimit-Input-Tokens-Reset"] = []string{reset}
	h["Anthropic-Ratelimit-Output-Tokens-Limit"] = []string{"400000"}
	h["Anthropic-Ratelimit-Output-Tokens-Remaining"] = []string{"399000"}
	h["Anthropic-Ratelimit-Output-Tokens-Reset"] = []string{reset}
}

// requestID is the id of the request in Anthropic's headers and errors.
func (x *exchange) requestID() string { return "req_011" + x.token(21) }
