// Package chart draws numbers as SVG: intervals on an axis, shares of a whole, time series with bands, strips
// of days, heat maps and badges. A picture has its data as a table, for people who do not see it.
//
// All functions are pure. A picture has no color of its own: the style sheet of the page gives each
// class its color, so that a picture follows the theme. Only a badge, which stands alone, has colors.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// Picture is a drawing with its data. SVG is safe in a page, whatever the texts in it are.
type Picture struct {
	SVG  template.HTML `redact:"-"`
	Head []string
	Rows [][]string
}

// Table returns the data of a picture as a table, in an element that a reader can open.
func (p *Picture) Table() template.HTML {
	var d drawing
	d.add(`<details class="data"><summary>data</summary><div class="scroll" tabindex="0"><table><thead><tr>`)
	for _, h := range p.Head {
		d.add(`<th scope="col">%s</th>`, clean(h))
	}
	d.add(`</tr></thead><tbody>`)
	for _, row := range p.Rows {
		d.add(`<tr>`)
		for i, c := range row {
			if i == 0 {
				d.add(`<th scope="row">%s</th>`, clean(c))
			} else {
				d.add(`<td>%s</td>`, clean(c))
			}
		}
		d.add(`</tr>`)
	}
	d.add(`</tbody></table></div></details>`)
	return template.HTML(d.String()) //nolint:gosec // every text went through clean
}

// safe is a text that can stand in SVG and HTML, between tags and in an attribute.
type safe string

// clean makes a text safe: no markup, and no character that XML does not allow.
func clean(s string) safe {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == 0xFFFE || r == 0xFFFF {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return safe(template.HTMLEscapeString(s))
}

// classOf keeps what can be the name of a class.
func classOf(s string) safe {
	return safe(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, s))
}

// px is a length or a place in a picture.
type px float64

func (x px) String() string { return strconv.FormatFloat(math.Round(float64(x)*100)/100, 'f', -1, 64) }

// drawing is SVG in the making. Texts come into it only as safe.
type drawing struct{ strings.Builder }

func (d *drawing) add(format string, args ...any) { fmt.Fprintf(d, format, args...) }

// begin opens the picture. A stretched one fills its place whatever the proportions; it has no text.
func (d *drawing) begin(class string, width, height px, title string, stretched bool) {
	d.add(`<svg class="chart %s" viewBox="0 0 %v %v"`, classOf(class), width, height)
	if stretched {
		d.add(` preserveAspectRatio="none"`)
	} else {
		d.add(` width="%v" height="%v"`, width, height)
	}
	if title == "" {
		d.add(` aria-hidden="true">`)
	} else {
		d.add(` role="img" aria-label="%s">`, clean(title))
	}
}

func (d *drawing) end(head []string, rows [][]string) Picture {
	d.add(`</svg>`)
	return Picture{template.HTML(d.String()), head, rows} //nolint:gosec // every text went through clean
}

// rect draws a rectangle with a title, which a pointer shows.
func (d *drawing) rect(class string, x, y, width, height px, title string) {
	d.add(`<rect class="%s" x="%v" y="%v" width="%v" height="%v"`, classOf(class), x, y, max(0, width), max(0, height))
	if title == "" {
		d.add(`/>`)
	} else {
		d.add(`><title>%s</title></rect>`, clean(title))
	}
}

func (d *drawing) line(class string, x1, y1, x2, y2 px) {
	d.add(`<line class="%s" x1="%v" y1="%v" x2="%v" y2="%v"/>`, classOf(class), x1, y1, x2, y2)
}

// text draws a text; anchor is "start", "middle" or "end".
func (d *drawing) text(class string, x, y px, anchor, s string) {
	d.add(`<text class="%s" x="%v" y="%v" text-anchor="%s">%s</text>`, classOf(class), x, y, anchor, clean(s))
}

// scale maps values to places.
type scale struct {
	from, to float64
	at, size px
}

func (s scale) place(v float64) px {
	if !(s.to > s.from) {
		return s.at
	}
	return s.at + s.size*px((min(max(v, s.from), s.to)-s.from)/(s.to-s.from))
}

// short cuts a text for a place in a picture.
func short(s string, runes int) string {
	if r := []rune(s); len(r) > runes {
		return string(r[:runes-1]) + "…"
	}
	return s
}

// finite reports whether a number can be drawn.
func finite(x ...float64) bool {
	for _, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}
