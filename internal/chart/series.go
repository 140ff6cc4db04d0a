package chart

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// Point is a value at a time. A value that is not a number is a gap; bounds that are none are not
// drawn.
type Point struct {
	At               time.Time
	Value, Low, High float64
	// Words are for the pointer and the table, such as "28/30".
	Words string
	// Link is the address that the point opens; "" means none.
	Link string
}

// Line is the values of one thing over time, in order.
type Line struct {
	Name, Class string
	Points      []Point
}

// Mark is something that happened at a time, such as a change of the model.
type Mark struct {
	At    time.Time
	Words string
}

// Series is a picture of values over time.
type Series struct {
	Title string
	Lines []Line
	Marks []Mark
	// Low and High bound a band behind the lines, such as that of usual values. Nothing is drawn if
	// they are equal.
	Low, High float64
	// From and To are the ends of the axis of values.
	From, To      float64
	Label         func(float64) string
	Width, Height int
}

const (
	leftOf  = 48 // the words of the axis of values
	rightOf = 14
	below   = 22 // the words of the axis of times
	above   = 10
	names   = 20 // the names of the lines, if there are several
)

// Draw draws the series. An axis that does not start at 0 says so.
func (s *Series) Draw() Picture {
	w, h := px(s.Width), px(s.Height)
	var d drawing
	d.begin("series", w, h, s.Title, false)
	top := px(above)
	if len(s.Lines) > 1 {
		top += names
		s.legend(&d)
	}
	y := scale{s.From, s.To, h - below, -(h - below - top)}
	first, last := s.span()
	x := scale{0, last.Sub(first).Seconds(), leftOf, w - leftOf - rightOf}
	at := func(t time.Time) px {
		if last.Equal(first) {
			return leftOf + x.size/2
		}
		return x.place(t.Sub(first).Seconds())
	}
	if s.High > s.Low {
		d.rect("usual", leftOf, y.place(s.High), w-leftOf-rightOf, y.place(s.Low)-y.place(s.High), "usual values")
	}
	for i := range 3 {
		v := s.From + (s.To-s.From)*float64(i)/2
		d.line("grid", leftOf, y.place(v), w-rightOf, y.place(v))
		words := s.Label(v)
		if i == 0 && s.From > 0 {
			words = "⩾ " + words // the axis does not start at 0
		}
		d.text("dim", leftOf-6, y.place(v)+4, "end", words)
	}
	s.days(&d, first, last, at, h)
	for _, m := range s.Marks {
		d.add(`<g class="mark"><title>%s</title>`, clean(m.At.UTC().Format(time.DateOnly)+" "+m.Words))
		d.line("onset", at(m.At), top, at(m.At), h-below)
		d.add(`</g>`)
	}
	rows := [][]string{}
	for i := range s.Lines {
		l := &s.Lines[i]
		for _, run := range unbroken(l.Points) {
			s.band(&d, l, run, at, y)
			d.add(`<polyline class="line %s" points="`, classOf(l.Class))
			for _, p := range run {
				d.add("%v,%v ", at(p.At), y.place(p.Value))
			}
			d.add(`"/>`)
		}
		for _, p := range l.Points {
			row := []string{p.At.UTC().Format("2006-01-02 15:04"), l.Name, "–", "–", p.Words}
			if finite(p.Value) {
				row[2] = s.Label(p.Value)
				s.point(&d, l, &p, at(p.At), y.place(p.Value))
			}
			if finite(p.Low, p.High) {
				row[3] = s.Label(p.Low) + " – " + s.Label(p.High)
			}
			rows = append(rows, row)
		}
	}
	return d.end([]string{"time", "", "value", "interval", ""}, rows)
}

// legend names the lines above the picture, as far as there is room.
func (s *Series) legend(d *drawing) {
	x := px(leftOf)
	for _, l := range s.Lines {
		name := short(l.Name, 24)
		wide := px(24 + 7*len([]rune(name)))
		if x+wide > px(s.Width) {
			d.text("dim", x, 13, "start", "…")
			return
		}
		d.add(`<circle class="dot %s" cx="%v" cy="9" r="4"/>`, classOf(l.Class), x+4)
		d.text("", x+13, 13, "start", name)
		x += wide
	}
}

// span returns the first and the last time.
func (s *Series) span() (first, last time.Time) {
	for _, l := range s.Lines {
		for _, p := range l.Points {
			if first.IsZero() || p.At.Before(first) {
				first = p.At
			}
			if p.At.After(last) {
				last = p.At
			}
		}
	}
	return first, last
}

// days writes up to five dates below the series.
func (s *Series) days(d *drawing, first, last time.Time, at func(time.Time) px, h px) {
	if first.IsZero() {
		return
	}
	const dates = 4
	step := last.Sub(first) / dates
	format := "2 Jan"
	if last.Sub(first) > 300*24*time.Hour {
		format = "Jan 2006"
	} else if last.Sub(first) < dates*24*time.Hour {
		format = "2 Jan 15:04"
	}
	before := ""
	for i := range dates + 1 {
		t := first.Add(time.Duration(i) * step)
		words := t.UTC().Format(format)
		if words == before {
			continue
		}
		before = words
		anchor := []string{"start", "middle", "middle", "middle", "end"}[i]
		if step == 0 {
			anchor = "middle"
		}
		d.text("dim", at(t), h-4, anchor, words)
	}
}

// unbroken splits points at their gaps.
func unbroken(points []Point) (runs [][]Point) {
	from := 0
	for i := 0; i <= len(points); i++ {
		if i < len(points) && finite(points[i].Value) {
			continue
		}
		if i > from {
			runs = append(runs, points[from:i])
		}
		from = i + 1
	}
	return runs
}

// band draws the intervals of a part of a line.
func (s *Series) band(d *drawing, l *Line, run []Point, at func(time.Time) px, y scale) {
	for _, p := range run {
		if !finite(p.Low, p.High) {
			return
		}
	}
	d.add(`<polygon class="band %s" points="`, classOf(l.Class))
	for _, p := range run {
		d.add("%v,%v ", at(p.At), y.place(p.High))
	}
	for _, p := range slices.Backward(run) {
		d.add("%v,%v ", at(p.At), y.place(p.Low))
	}
	d.add(`"/>`)
}

func (s *Series) point(d *drawing, l *Line, p *Point, x, y px) {
	if p.Link != "" {
		d.add(`<a href="%s">`, clean(p.Link))
	}
	title := l.Name + ", " + p.At.UTC().Format("2 Jan 2006 15:04") + ": " + s.Label(p.Value) + " " + p.Words
	d.add(`<circle class="dot %s" cx="%v" cy="%v" r="3"><title>%s</title></circle>`, classOf(l.Class), x, y, clean(title))
	if p.Link != "" {
		d.add(`</a>`)
	}
}

// Day is a bar of a strip. A value that is not a number is a gap.
type Day struct {
	Name  string
	Value float64 // between 0 and 1
	Class string
	// Onset draws a line before the day: here something changed.
	Onset bool
	Words string
}

// Strip draws days next to each other, as high as their values. It has no words.
func Strip(title string, days []Day) Picture {
	const wide, high = 5, 22
	var d drawing
	d.begin("strip", px(wide*len(days)), high, title, false)
	rows := [][]string{}
	for i, day := range days {
		x := px(wide * i)
		rows = append(rows, []string{day.Name, day.Words})
		if day.Onset {
			d.line("onset", x, 0, x, high)
		}
		if !finite(day.Value) {
			d.rect("gap", x+1, high-1, wide-2, 1, day.Name+": no data")
			continue
		}
		tall := max(2, px(math.Min(1, math.Max(0, day.Value)))*(high-2))
		d.rect(day.Class, x+.5, high-tall, wide-1, tall, day.Name+": "+day.Words)
	}
	return d.end([]string{"day", ""}, rows)
}

// Cell is a field of a heat map.
type Cell struct {
	// Class names the color; "" means that there is no data. Glyph stands in the field, so that the
	// color is not alone, and Words are for the pointer and the table.
	Class, Glyph, Words string
	Link                string
}

// Heat draws a field for each row and column. cells has a list for each row.
func Heat(title string, rows, columns []string, cells [][]Cell) Picture {
	const size, head, names = 18, 16, 190
	var d drawing
	w, h := px(names+size*len(columns)), px(head+size*len(rows))
	d.begin("heat", w, h, title, false)
	if n := len(columns); n > 0 {
		d.text("dim", names, 11, "start", short(columns[0], max(12, n*size/14)))
		if n > 12 {
			d.text("dim", w, 11, "end", short(columns[n-1], 20))
		}
	}
	table := [][]string{}
	for r, name := range rows {
		y := px(head + size*r)
		d.add(`<g><title>%s</title>`, clean(name))
		d.text("name", names-8, y+13, "end", short(name, 28))
		d.add(`</g>`)
		row := []string{name}
		for c := range columns {
			var cell Cell
			if r < len(cells) && c < len(cells[r]) {
				cell = cells[r][c]
			}
			row = append(row, cell.Words)
			if cell.Class == "" {
				continue
			}
			if cell.Link != "" {
				d.add(`<a href="%s">`, clean(cell.Link))
			}
			x := px(names + size*c)
			d.rect("cell "+cell.Class, x+1, y+1, size-2, size-2, fmt.Sprintf("%s, %s: %s", name, columns[c], cell.Words))
			if cell.Glyph != "" {
				d.text("glyph "+cell.Class, x+size/2, y+13, "middle", cell.Glyph)
			}
			if cell.Link != "" {
				d.add(`</a>`)
			}
		}
		table = append(table, row)
	}
	return d.end(append([]string{""}, columns...), table)
}
