package compare

import "errors"

// openFile opens a result file.
func openFile(path string) (*Side, error) {
	return nil, errors.New(path + ": result files are not read yet")
}
