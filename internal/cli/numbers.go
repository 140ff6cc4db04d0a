package cli

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/plumb-eval/plumb/internal/doc"
)

// numberVar adds a flag with a number, which is decimal as everywhere else. The number flags of pflag
// also read 0x10, 1_000, inf and NaN.
func numberVar[T int | int64 | float64](fs *pflag.FlagSet, at *T, name, short string, value T, usage string) {
	*at = value
	fs.VarP(&number[T]{at}, name, short, usage)
}

// number is the value of a flag.
type number[T int | int64 | float64] struct{ at *T }

func (n *number[T]) String() string {
	if n.at == nil {
		return "0"
	}
	return fmt.Sprint(*n.at)
}

// Type is that of the flag of pflag, which the help and completions know.
func (n *number[T]) Type() string { return fmt.Sprintf("%T", *new(T)) }

func (n *number[T]) Set(text string) error {
	if at, ok := any(n.at).(*float64); ok {
		f, err := doc.ParseNumber(text)
		*at = f
		return err
	}
	i, err := doc.ParseWhole(text)
	if err == nil && int64(T(i)) != i {
		err = fmt.Errorf("the number %s is too large", text)
	}
	*n.at = T(i)
	return err
}
