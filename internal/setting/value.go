package setting

import (
	"errors"
	"fmt"
	"time"

	"github.com/plumb-eval/plumb/internal/doc"
	"github.com/plumb-eval/plumb/internal/text"
)

// Milliseconds is a duration, as JSON has it. It is also the value of a flag.
type Milliseconds int64

// Duration returns m as a duration.
func (m Milliseconds) Duration() time.Duration { return time.Duration(m) * time.Millisecond }

// Type returns the name of the type for the help of flags.
func (m *Milliseconds) Type() string { return "duration" }

func (m *Milliseconds) String() string {
	return text.Exact(m.Duration())
}

// ErrTooShort is the error of [Milliseconds.Set] for a part of a millisecond.
var ErrTooShort = errors.New("must be at least 1ms")

// Set parses a duration, such as 90s.
func (m *Milliseconds) Set(s string) error {
	d, err := text.ParseDuration(s)
	if err != nil {
		return err
	}
	if d > 0 && d < time.Millisecond {
		return ErrTooShort
	}
	*m = Milliseconds(d.Milliseconds())
	return nil
}

// Optional is a number or none, which leaves the choice to the provider. It is also the value of a
// flag.
type Optional[T int64 | float64] struct {
	Value *T
	None  bool
}

// Type returns the name of the type for the help of flags.
func (o *Optional[T]) Type() string { return "number|none" }

func (o *Optional[T]) String() string {
	switch {
	case o.None:
		return "none"
	case o.Value == nil:
		return ""
	default:
		return fmt.Sprint(*o.Value)
	}
}

// Set parses a number or none.
func (o *Optional[T]) Set(s string) error {
	if s == "none" {
		*o = Optional[T]{None: true}
		return nil
	}
	number, err := doc.ParseNumber(s)
	if err != nil {
		return fmt.Errorf("%q is neither a number nor none", s)
	}
	*o = Optional[T]{Value: new(T(number))}
	if whole, ok := any(o.Value).(*int64); ok {
		if *whole, err = doc.ParseWhole(s); err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
	}
	return nil
}
