package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// One Ctrl-C that arrives three times is one signal, and the next Ctrl-C is the second.
func TestRepeatedSignalsAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		received, delivered, done := make(chan os.Signal, 2), make(chan os.Signal, 2), make(chan struct{})
		defer close(done)
		go dropRepeated(received, delivered, done)
		expect := func(s os.Signal, want int) {
			t.Helper()
			received <- s
			synctest.Wait()
			if len(delivered) != want {
				t.Errorf("%d signals delivered, want %d", len(delivered), want)
			}
		}
		expect(os.Interrupt, 1)
		time.Sleep(20 * time.Millisecond)
		expect(os.Interrupt, 1)
		time.Sleep(echoTime - 20*time.Millisecond)
		expect(os.Interrupt, 1)
		time.Sleep(time.Millisecond)
		expect(syscall.SIGTERM, 2)
		time.Sleep(time.Second)
		expect(os.Interrupt, 2)
	})
}
