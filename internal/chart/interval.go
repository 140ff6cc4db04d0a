package chart

import (
	"fmt"
	"strings"
)

// Interval is a value with its interval on an axis.
type Interval struct {
	// Title says what the picture shows, for people who do not see it.
	Title            string
	Value, Low, High float64
	// From and To are the ends of the axis.
	From, To float64
	// Margin is the largest value on both sides of 0 that does not matter; 0 means that there is none.
	Margin float64
	// Class names the color.
	Class string
	// Label puts a value into words.
	Label func(float64) string
}

func (i *Interval) table() ([]string, [][]string) {
	row := []string{i.Title, i.Label(i.Value), i.Label(i.Low), i.Label(i.High)}
	head := []string{"", "value", "low", "high"}
	if i.Margin > 0 {
		head, row = append(head, "margin"), append(row, "±"+strings.TrimLeft(i.Label(i.Margin), "+"))
	}
	return head, [][]string{row}
}

// Bar draws the interval on a thin bar without words. It fills its place.
func (i *Interval) Bar() Picture {
	var d drawing
	d.begin("interval", 100, 10, "", true)
	s := scale{i.From, i.To, 0, 100}
	d.rect("track", 0, 3, 100, 4, "")
	if finite(i.Low, i.High) {
		low, high := s.place(i.Low), s.place(i.High)
		d.rect("range "+i.Class, low, 3, high-low, 4, "")
	}
	if finite(i.Value) {
		d.rect("value", s.place(i.Value)-.5, 0, 1, 10, "")
	}
	return d.end(i.table())
}

// Ruler draws the interval on an axis with words: its ends, 0 and the margin.
func (i *Interval) Ruler(width int) Picture {
	const side, middle = 36, 34
	w := px(width)
	var d drawing
	d.begin("interval ruler", w, 64, i.Title, false)
	s := scale{i.From, i.To, side, w - 2*side}
	zero := i.From <= 0 && i.To >= 0
	if zero && i.Margin > 0 {
		low, high := s.place(-i.Margin), s.place(i.Margin)
		d.rect("margin", low, middle-14, high-low, 28, "margin: "+i.Label(-i.Margin)+" to "+i.Label(i.Margin))
	}
	if x := s.place(0); zero && i.Margin > 0 && finite(i.Value) && (s.place(i.High) < x-90 || s.place(i.Low) > x+90) {
		d.text("dim", x, 12, "middle", "margin ±"+strings.TrimLeft(i.Label(i.Margin), "+"))
	}
	d.line("axis", s.place(i.From), middle, s.place(i.To), middle)
	if zero {
		d.line("zero", s.place(0), middle-18, s.place(0), middle+14)
		d.text("dim", s.place(0), 62, "middle", i.Label(0))
	}
	if finite(i.Low, i.High, i.Value) {
		low, high := s.place(i.Low), s.place(i.High)
		d.rect("range "+i.Class, low, middle-3, max(2, high-low), 6, "")
		d.line("end "+i.Class, low, middle-8, low, middle+8)
		d.line("end "+i.Class, high, middle-8, high, middle+8)
		d.add(`<circle class="value %s" cx="%v" cy="%v" r="6"/>`, classOf(i.Class), s.place(i.Value), px(middle))
		d.text("strong "+i.Class, s.place(i.Value), 12, "middle", i.Label(i.Value))
		if high-low > 84 { // else the words would run into each other
			d.text("dim", low, 12, anchorAt(low, w), i.Label(i.Low))
			d.text("dim", high, 12, anchorAt(high, w), i.Label(i.High))
		}
	}
	for _, end := range []float64{i.From, i.To} {
		if x := s.place(end); !zero || x-s.place(0) > 60 || s.place(0)-x > 60 {
			d.text("dim", x, 62, "middle", i.Label(end))
		}
	}
	return d.end(i.table())
}

// anchorAt keeps a text at a place inside of the picture.
func anchorAt(x, width px) string {
	switch {
	case x < 40:
		return "start"
	case x > width-40:
		return "end"
	default:
		return "middle"
	}
}

// Part is one part of a whole.
type Part struct {
	Name, Class string
	Count       int
}

// Shares draws the parts of a whole next to each other. It fills its place. A part that is not
// empty can be seen, however small it is.
func Shares(title string, parts []Part) Picture {
	var d drawing
	d.begin("shares", 100, 8, title, true)
	total, small := 0, 0
	for _, p := range parts {
		total += p.Count
	}
	const least = .6
	for _, p := range parts {
		if p.Count > 0 && float64(p.Count)*100 < least*float64(total) {
			small++
		}
	}
	at, rows := px(0), [][]string{}
	for _, p := range parts {
		rows = append(rows, []string{p.Name, fmt.Sprint(p.Count)})
		if p.Count == 0 {
			continue
		}
		width := px(float64(p.Count) / float64(total) * (100 - least*float64(small)))
		if float64(p.Count)*100 < least*float64(total) {
			width = least
		}
		d.rect(p.Class, at, 0, width, 8, fmt.Sprintf("%s: %d of %d", p.Name, p.Count, total))
		at += width
	}
	return d.end([]string{"", "count"}, rows)
}
