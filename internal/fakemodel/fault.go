package fakemodel

import (
	"encoding/binary"
	"slices"
	"time"
)

// Fault is one way in which a request breaks.
type Fault string

// The faults. Those with a status have the provider's own error body.
const (
	// FaultRateSeconds and FaultRateDate are a 429 with Retry-After as seconds and as an HTTP date.
	FaultRateSeconds Fault = "rate-seconds"
	FaultRateDate    Fault = "rate-date"
	// FaultTimeout is a 408, FaultConflict a 409, FaultServer a 500, FaultGateway a proxy's 502
	// with an HTML page.
	FaultTimeout  Fault = "timeout"
	FaultConflict Fault = "conflict"
	FaultServer   Fault = "server"
	FaultGateway  Fault = "gateway"
	// FaultOverloaded is a 503, or Anthropic's 529.
	FaultOverloaded Fault = "overloaded"
	// FaultReset is a connection reset in place of a reply.
	FaultReset Fault = "reset"
	// FaultHang sends nothing, FaultStall nothing after half the body; see [Faults.HangFor].
	FaultHang  Fault = "hang"
	FaultStall Fault = "stall"
	// FaultSlow is a right answer in slow pieces; see [Faults.SlowFor].
	FaultSlow Fault = "slow"
	// FaultTruncated ends the connection before Content-Length is reached, FaultAborted in the
	// middle of a chunked body.
	FaultTruncated Fault = "truncated"
	FaultAborted   Fault = "aborted"
	// FaultMalformed is a complete reply with status 200 that is not JSON, FaultHTML a web page,
	// FaultEmpty an empty body.
	FaultMalformed Fault = "malformed"
	FaultHTML      Fault = "html"
	FaultEmpty     Fault = "empty"
	// FaultDropped closes the connection instead of a reply, and FaultCut resets it after half the
	// body. FaultGoAway announces on HTTP/2 that nothing on the connection was answered, and closes
	// it. On HTTP/2 these break all requests on the connection. FaultClosing is a right answer
	// after which the connection is closed normally.
	FaultDropped Fault = "dropped"
	FaultCut     Fault = "cut"
	FaultGoAway  Fault = "go-away"
	FaultClosing Fault = "closing"
	// FaultDrip sends white space at intervals instead of a body; see [Faults.HangFor].
	FaultDrip Fault = "drip"
	// FaultRefused is a 400 that rejects one of the optional parameters. A request without any is
	// answered.
	FaultRefused Fault = "refused"
)

// The faults that only scripts and tables of answers use, because a retry does not help.
// FaultNoModel is the provider's error for an unknown model, FaultWrongKey for an unknown key,
// FaultNoQuota for an account without money. FaultUnauthorized is a 401, even for providers whose
// error for a wrong key has another status.
const (
	FaultNoModel      Fault = "no-model"
	FaultWrongKey     Fault = "wrong-key"
	FaultNoQuota      Fault = "no-quota"
	FaultUnauthorized Fault = "unauthorized"
)

// AllFaults returns all faults for [Faults].
func AllFaults() []Fault {
	return []Fault{
		FaultRateSeconds, FaultRateDate, FaultTimeout, FaultConflict, FaultServer, FaultGateway, FaultOverloaded,
		FaultReset, FaultHang, FaultStall, FaultSlow, FaultTruncated, FaultAborted, FaultMalformed, FaultHTML,
		FaultEmpty, FaultRefused, FaultDropped, FaultCut, FaultGoAway, FaultClosing, FaultDrip,
	}
}

// isAnswered reports whether the fault affects only how an answer arrives.
func isAnswered(f Fault) bool { return f == FaultSlow || f == FaultClosing }

// isLasting reports whether a prompt that always meets the fault is never answered. Slow answers
// arrive, and a client runs out of optional parameters.
func isLasting(f Fault) bool { return !isAnswered(f) && f != FaultRefused }

// Faults configure how often and how requests break. The zero value breaks none.
type Faults struct {
	// Rate is the share of attempts that break, from 0 to 1, among prompts that are not permanently
	// broken.
	Rate float64
	// Kinds are the faults to choose from, with equal probability; nil means [AllFaults].
	Kinds []Fault
	// MaxConsecutive limits the consecutive faults of a prompt that is not requested concurrently;
	// 0 means 2.
	MaxConsecutive int
	// Permanent is the share of prompts, from 0 to 1, that break at each attempt in the same way.
	// Judges' questions are excluded, because their text has a random part.
	Permanent float64
	// HangFor is when the server closes a hanging connection; 0 waits for the client.
	HangFor time.Duration
	// SlowFor is the duration of a slow body; 0 means 300 ms.
	SlowFor time.Duration
}

// Truth predicts the result for a prompt that is repeated until it is answered.
type Truth struct {
	// Broken is the fault at each attempt, or "" if the prompt is eventually answered.
	Broken Fault
	// Faults are the faults of the first attempts, up to the first answered one; "" means none. It
	// is nil for a broken prompt. A request without optional parameters is answered in place of
	// FaultRefused.
	Faults []Fault
}

// Truth predicts the result for a prompt under these faults. It ignores answers that name a fault.
func (f Faults) Truth(seed uint64, prompt string) Truth {
	h := hashText(prompt)
	if broken := f.permanent(seed, h); broken != "" {
		return Truth{Broken: broken}
	}
	var met []Fault
	for attempt := 0; ; attempt++ {
		kind := f.at(seed, h, attempt)
		met = append(met, kind)
		if kind == "" || isAnswered(kind) {
			return Truth{Faults: met}
		}
	}
}

func (f Faults) kinds() []Fault {
	if f.Kinds == nil {
		return AllFaults()
	}
	return f.Kinds
}

// permanent returns the permanent fault of the prompt, or "".
func (f Faults) permanent(seed, prompt uint64) Fault {
	if f.Permanent <= 0 || unit(mix(seed, prompt, 1)) >= f.Permanent {
		return ""
	}
	kinds := slices.DeleteFunc(slices.Clone(f.kinds()), func(k Fault) bool { return !isLasting(k) })
	if len(kinds) == 0 {
		return ""
	}
	return kinds[mix(seed, prompt, 2)%uint64(len(kinds))]
}

// at returns the temporary fault of the given attempt, counted from 0, or "". Each attempt after
// MaxConsecutive others has none, which limits consecutive faults without state.
func (f Faults) at(seed, prompt uint64, attempt int) Fault {
	limit := f.MaxConsecutive
	if limit <= 0 {
		limit = 2
	}
	if f.Rate <= 0 || attempt%(limit+1) == limit {
		return ""
	}
	kinds := f.kinds()
	draw := mix(seed, prompt, 3+2*uint64(attempt))
	if len(kinds) == 0 || unit(draw) >= f.Rate {
		return ""
	}
	return kinds[mix(seed, prompt, 4+2*uint64(attempt))%uint64(len(kinds))]
}

// hashText is FNV-1a with 64 bits on blocks of eight bytes, fast enough for benchmarks.
func hashText(s string) uint64 {
	const prime = 1099511628211
	h := uint64(14695981039346656037) ^ uint64(len(s))
	for ; len(s) >= 8; s = s[8:] {
		b := [8]byte{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]}
		h = (h ^ binary.LittleEndian.Uint64(b[:])) * prime
		h ^= h >> 32
	}
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * prime
	}
	return mix(h, 0, 0)
}

// mix is the finalizer of splitmix64 over its arguments.
func mix(a, b, c uint64) uint64 {
	x := a ^ b*0x9e3779b97f4a7c15 ^ c*0xd1b54a32d192ed03
	for range 2 {
		x += 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return x
}

// unit maps a hash to [0, 1).
func unit(h uint64) float64 { return float64(h>>11) / (1 << 53) }

// hex returns the 16 hexadecimal digits of h.
func hex(h uint64) string {
	var b [16]byte
	for i := range b {
		b[i] = "0123456789abcdef"[h>>60]
		h <<= 4
	}
	return string(b[:])
}
