package report

import (
	"bytes"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Columns aligns lines whose cells are separated by tabs, two blanks apart, by the width that a terminal gives each
// character. Like [text/tabwriter.Writer] it writes when it is flushed.
type Columns struct {
	w    io.Writer
	text bytes.Buffer
}

// NewColumns returns columns that are written to w.
func NewColumns(w io.Writer) *Columns { return &Columns{w: w} }

// Write takes lines, or parts of them.
func (c *Columns) Write(p []byte) (int, error) { return c.text.Write(p) }

// Flush writes the lines.
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
