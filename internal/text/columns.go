package text

import (
	"bytes"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Columns aligns tab-separated cells two spaces apart, by their display width on a terminal. Like
// [text/tabwriter.Writer], it writes when it is flushed.
type Columns struct {
	w    io.Writer
	text bytes.Buffer
	// Width is the width of the terminal; 0 means no limit. The widest columns are shortened.
	Width int
}

// NewColumns returns columns that write to w.
func NewColumns(w io.Writer) *Columns { return &Columns{w: w} }

// shrink shortens the widest columns until they fit, with a gap of one space if they are many.
func (c *Columns) shrink(widths []int) (gap string) {
	const least = 6
	for _, gap = range []string{"  ", " "} {
		over := (len(widths)-1)*len(gap) - c.Width
		for _, w := range widths {
			over += w
		}
		for over > 0 && c.Width > 0 {
			widest := slices.Index(widths, slices.Max(widths))
			if widths[widest] <= least {
				break
			}
			widths[widest]--
			over--
		}
		if over <= 0 || c.Width == 0 {
			break
		}
	}
	return gap
}

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
	gap := "  "
	if len(widths) > 0 {
		gap = c.shrink(widths)
	}
	var b strings.Builder
	for _, cells := range rows {
		for i, cell := range cells {
			cells[i] = Pad(Fit(cell, widths[i]), widths[i])
		}
		b.WriteString(strings.TrimRight(strings.Join(cells, gap), " ") + "\n")
	}
	_, err := io.WriteString(c.w, b.String())
	return err
}
