package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Columns aligns tab-separated cells two spaces apart, by their display width on a terminal. Like
// [text/tabwriter.Writer], it writes when it is flushed.
type Columns struct {
	w    io.Writer
	text bytes.Buffer
}

// NewColumns returns columns that write to w.
func NewColumns(w io.Writer) *Columns { return &Columns{w: w} }

// Write accepts lines or parts of lines.
func (c *Columns) Write(p []byte) (int, error) { return c.text.Write(p) }

// Flush writes the aligned lines.
func (c *Columns) Flush() error {
	var rows [][]string
	var widths []int
	for line := range strings.Lines(c.text.String()) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		for len(widths) < len(cells) {
			widths = append(widths, 0)
		}
		for i, cell := range cells {
			widths[i] = max(widths[i], ansi.StringWidth(cell))
		}
		rows = append(rows, cells)
	}
	c.text.Reset()
	var b strings.Builder
	for _, cells := range rows {
		for i, cell := range cells {
			cells[i] = pad(cell, widths[i])
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, "  "), " ") + "\n")
	}
	_, err := io.WriteString(c.w, b.String())
	return err
}
