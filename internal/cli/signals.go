package cli

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// echoTime is how soon after a signal the next one counts as its repetition.
const echoTime = 100 * time.Millisecond

// signals delivers interrupts and SIGTERM until stop is called, without repetitions. A terminal
// sends Ctrl-C to plumb and to the npx, npm or make that started it, and these send it to plumb
// once more. Without this, one Ctrl-C would count as the second one, which stops a run at once.
func signals() (<-chan os.Signal, func()) {
	received, delivered, done := make(chan os.Signal, 2), make(chan os.Signal, 2), make(chan struct{})
	signal.Notify(received, os.Interrupt, syscall.SIGTERM)
	go dropRepeated(received, delivered, done)
	return delivered, sync.OnceFunc(func() {
		signal.Stop(received)
		close(done)
	})
}

func dropRepeated(received <-chan os.Signal, delivered chan<- os.Signal, done <-chan struct{}) {
	var last time.Time
	for {
		select {
		case <-done:
			return
		case s := <-received:
			if now := time.Now(); now.Sub(last) > echoTime {
				last = now
				select {
				case delivered <- s:
				default: // two signals wait already, and a third changes nothing
				}
			}
		}
	}
}
