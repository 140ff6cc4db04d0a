package report

// What tests outside of the package call.
var (
	ScanBlocks = scanBlocks
	BlockJSON  = blockJSON
)

// Range returns the place of a block in its file.
func (s span) Range() (from, to int64) { return s.from, s.to }
