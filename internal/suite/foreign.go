package suite

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/convert"
	"github.com/plumb-eval/plumb/internal/files"
)

// foreignBytes is how much of a file is read to recognize its format.
const foreignBytes = 512 << 10

// foreign returns an error for a file in the format of another tool, which says what to do; nil for
// any other file.
func foreign(ref, full string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return nil // reading a pipe would empty it
	}
	file, err := files.Open(full)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	head, err := io.ReadAll(io.LimitReader(file, foreignBytes))
	if err != nil {
		return nil
	}
	if name, do, ok := convert.Suggest(ref, head); ok {
		return plumb.WithHint(fmt.Errorf("this is %s", name), do)
	}
	return nil
}
