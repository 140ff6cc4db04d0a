package modelapi

import (
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
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

// retryAfter reads how long a reply asks to wait: Retry-After as seconds or as an HTTP date, or retry-after-ms. It is 0
// when the reply does not say, or says something past or senseless.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return seconds(ms / 1000)
	}
	v := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		return seconds(s)
	}
	if at, err := http.ParseTime(v); err == nil {
		return max(0, at.Sub(serverTime(h, now)))
	}
	return 0
}

// seconds is the duration of s seconds, 0 if that is no time to wait, and at most a year.
func seconds(s float64) time.Duration {
	if s <= 0 || math.IsNaN(s) {
		return 0
	}
	return time.Duration(min(s, 365*24*3600) * float64(time.Second))
}

// serverTime is the server's own idea of the present, so that dates in a reply mean the same on both sides.
func serverTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// spentQuota returns until when a lane should rest because a reply says that nothing is left of a quota; zero when
// something is left, or when the reply does not say. At most a minute: the figures are often those of a whole refill.
func spentQuota(h http.Header, now time.Time) time.Time {
	var wait time.Duration
	for _, what := range [...][2]string{
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	} {
		if left := h[what[0]]; len(left) > 0 && left[0] == "0" {
			reset := h.Get(what[1])
			d, err := time.ParseDuration(reset)
			if err != nil {
				s, _ := strconv.ParseFloat(reset, 64)
				d = seconds(s)
			}
			wait = max(wait, d)
		}
	}
	for _, what := range [...][2]string{
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	} {
		if left := h[what[0]]; len(left) > 0 && left[0] == "0" {
			if at, err := time.Parse(time.RFC3339, h.Get(what[1])); err == nil {
				wait = max(wait, at.Sub(serverTime(h, now)))
			}
		}
	}
	if wait <= 0 {
		return time.Time{}
	}
	return now.Add(min(wait, maxQuotaPause))
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
	s, _ := strconv.ParseFloat(m[1], 64)
	return seconds(s)
}
