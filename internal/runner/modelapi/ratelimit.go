package modelapi

import (
	"errors"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/plumb-eval/plumb/internal/text"
)

// requestID returns the provider's name for a request.
func requestID(h http.Header) string {
	for _, name := range [...]string{"X-Request-Id", "Request-Id", "Apim-Request-Id", "X-Goog-Request-Id"} {
		if v := h[name]; len(v) > 0 && v[0] != "" {
			return oneLine(v[0])
		}
	}
	return ""
}

// retryAfter reads how long a reply asks to wait: Retry-After as seconds or as an HTTP date, or
// retry-after-ms. It is 0 if the reply has no such header, or one that is in the past or invalid.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, ok := decimal(h.Get("Retry-After-Ms")); ok && ms > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, ok := decimal(v); ok {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(serverTime(h, now)))
	}
	return 0
}

// decimal reads a decimal number; one that is too large for a float is infinite.
func decimal(s string) (n float64, ok bool) {
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || errors.Is(err, strconv.ErrRange)
}

// longestWait replaces all longer waits.
const longestWait = 365 * 24 * time.Hour

// seconds is the duration of s seconds, at least 0 and at most [longestWait].
func seconds(s float64) time.Duration {
	if s <= 0 || math.IsNaN(s) {
		return 0
	}
	return time.Duration(min(s, longestWait.Seconds()) * float64(time.Second))
}

// serverTime is the time of the server's clock, by which the dates in a reply are meant.
func serverTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// spentQuota returns how long the provider takes to restore a quota that is used up; 0 if something
// is left, or the reply does not have it. It is often the time until the quota is full again.
func spentQuota(h http.Header, now time.Time) (wait time.Duration) {
	for _, quota := range [...]struct{ left, reset string }{
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	} {
		if left := h[quota.left]; len(left) == 0 || left[0] != "0" {
			continue
		}
		reset := h.Get(quota.reset)
		if d, err := time.ParseDuration(reset); err == nil {
			wait = max(wait, d)
		} else if at, err := time.Parse(time.RFC3339, reset); err == nil {
			wait = max(wait, at.Sub(serverTime(h, now)))
		} else if s, ok := decimal(reset); ok {
			wait = max(wait, seconds(s))
		}
	}
	return wait
}

// quotaWait limits the wait for a quota. A wait that is too long for a retry stays as it is.
func quotaWait(wait time.Duration) time.Duration {
	if wait > maxElapsed {
		return wait
	}
	return min(wait, maxQuotaPause)
}

// waitWords describes how long a provider asks to wait.
func waitWords(d time.Duration) string {
	if d >= longestWait {
		return "a year or more"
	}
	return text.Duration(d)
}

// retryDelay reads Google's RetryInfo from the details of an error.
func retryDelay(details string) time.Duration {
	if !strings.Contains(details, "retryDelay") {
		return 0
	}
	m := regexp.MustCompile(`"retryDelay"\s*:\s*"([0-9.]+)s"`).FindStringSubmatch(details)
	if m == nil {
		return 0
	}
	s, _ := decimal(m[1])
	return seconds(s)
}
