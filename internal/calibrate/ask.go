package calibrate

import (
	"context"
	"sync"

	"github.com/plumb-eval/plumb"
)

// Answer is what the judge says about one item. A verdict with an error is no answer.
type Answer struct {
	Item    *Item
	Verdict plumb.Verdict
	// Swapped is the verdict on the question with its parts in the other order.
	Swapped plumb.Verdict
}

// AskOptions are how [Ask] asks.
type AskOptions struct {
	Judge *plumb.Judge
	Votes int
	// Parallel is the number of items that are asked at once; 0 means 1.
	Parallel int
	// Progress is called after each item, never concurrently. Optional.
	Progress func(done int)
}

// Ask puts each item to the judge, in both orders. The answers are in the order of the items. When
// ctx is done, the rest of the items get no answer.
func Ask(ctx context.Context, items []Item, o AskOptions) []Answer {
	answers := make([]Answer, len(items))
	next := make(chan int)
	var mu sync.Mutex
	done := 0
	var workers sync.WaitGroup
	for range max(o.Parallel, 1) {
		workers.Go(func() {
			for i := range next {
				item := &items[i]
				a := Answer{Item: item, Verdict: item.question(o.Votes).Ask(ctx, o.Judge)}
				if a.Swapped = a.Verdict; a.Verdict.Error == nil {
					a.Swapped = item.swapped(o.Votes).Ask(ctx, o.Judge)
				}
				answers[i] = a
				mu.Lock()
				if done++; o.Progress != nil {
					o.Progress(done)
				}
				mu.Unlock()
			}
		})
	}
	for i := range items {
		next <- i
	}
	close(next)
	workers.Wait()
	return answers
}
