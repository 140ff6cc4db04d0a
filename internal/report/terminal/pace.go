package terminal

import (
	"slices"
	"time"
)

const (
	paceWindow = 30
	paceSample = 10 // executions after which the recent rate is better than the rate of the whole run
)

// pace estimates the speed from recent progress.
type pace struct {
	start time.Time
	first int
	marks []mark // at most one per second; the last paceWindow marks are kept
}

type mark struct {
	at   time.Time
	done int
}

func (p *pace) begin(now time.Time, done int) { p.start, p.first = now, done }

// rate returns executions per second and the time left, or 0 while it is too early to tell.
func (p *pace) rate(now time.Time, done, planned int) (perSecond float64, left time.Duration) {
	if len(p.marks) == 0 || now.Sub(p.marks[len(p.marks)-1].at) >= time.Second {
		p.marks = append(p.marks, mark{now, done})
		if len(p.marks) > paceWindow {
			p.marks = slices.Delete(p.marks, 0, 1)
		}
	}
	from := mark{p.start, p.first}
	if old := p.marks[0]; done-old.done >= paceSample && now.Sub(old.at) >= 2*time.Second {
		from = old
	}
	elapsed := now.Sub(from.at).Seconds()
	if done-from.done < 1 || elapsed < 1 || done >= planned {
		return 0, 0
	}
	perSecond = float64(done-from.done) / elapsed
	return perSecond, time.Duration(float64(planned-done) / perSecond * float64(time.Second))
}
