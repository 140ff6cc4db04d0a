package modelapi

import (
	"errors"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plumb-eval/plumb"
)

// TestSharedConnectionsAreNotBlamedOnOne: when a connection breaks that many requests share, none
// of them is to blame; it is made again more often than one that broke alone, and no more slowly.
func TestSharedConnectionsAreNotBlamedOnOne(t *testing.T) {
	t.Parallel()
	reset := &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	stream := errors.New("stream error: stream ID 7; INTERNAL_ERROR; received from peer")
	for name, c := range map[string]struct {
		major    int
		errs     []error
		attempts int
		longest  time.Duration
	}{
		"one request a connection": {1, []error{reset}, 6, 24 * time.Second},
		"shared":                   {2, []error{reset}, 12, 60 * time.Second},
		"graceful":                 {2, []error{errors.New("http2: Transport received Server's graceful shutdown GOAWAY")}, 12, 60 * time.Second},
		"one stream":               {2, []error{stream}, 6, 24 * time.Second},
		"both in turn":             {2, []error{stream, reset}, 11, 60 * time.Second},
		"nobody listens":           {2, []error{&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}}, 3, 3 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			good := string(recorded(t, "chat.json"))
			var asked atomic.Int64
			base := &carrier{answer: func(n int, _ *http.Request, _ []byte) (*http.Response, error) {
				if n == 1 { // tells which protocol it is
					res := respond(200, good)
					res.ProtoMajor = c.major
					return res, nil
				}
				return nil, c.errs[int(asked.Add(1)-1)%len(c.errs)]
			}}
			synctest.Test(t, func(t *testing.T) {
				m := talker(t, base, TransportOptions{})
				if _, err := m.Run(t.Context(), say("hi")); err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				_, err := m.Run(t.Context(), say("hi"))
				var f *plumb.Failure
				if !errors.As(err, &f) || f.Origin != plumb.OriginRunner || int(asked.Load()) != c.attempts {
					t.Errorf("%d attempts, want %d: %v", asked.Load(), c.attempts, err)
				}
				if took := time.Since(began); took > c.longest {
					t.Errorf("took %v, want %v at most", took, c.longest)
				}
			})
		})
	}
}
