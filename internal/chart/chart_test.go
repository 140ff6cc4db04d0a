package chart

import (
	"encoding/xml"
	"errors"
	"fmt"
	"html"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// elements parses a picture and returns its elements by name. A picture that is no XML fails the test.
func elements(t interface{ Fatalf(string, ...any) }, p Picture) map[string][]map[string]string {
	found := map[string][]map[string]string{}
	d := xml.NewDecoder(strings.NewReader(string(p.SVG)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in %s", err, p.SVG)
		}
		if e, ok := token.(xml.StartElement); ok {
			attributes := map[string]string{}
			for _, a := range e.Attr {
				attributes[a.Name.Local] = a.Value
			}
			found[e.Name.Local] = append(found[e.Name.Local], attributes)
		}
	}
}

func percent(v float64) string { return fmt.Sprintf("%.0f %%", v*100) }

// pictures returns one of each kind, with a text in every place.
func pictures(text string, v, low, high float64) map[string]Picture {
	day := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	label := func(x float64) string { return percent(x) + text }
	i := Interval{Title: text, Value: v, Low: low, High: high, From: -1, To: 1, Margin: .02, Class: text, Label: label}
	s := Series{
		Title: text, From: 0, To: 1, Low: low, High: high, Label: label, Width: 600, Height: 160,
		Marks: []Mark{{day, text}},
		Lines: []Line{{text, text, []Point{{day, v, low, high, text, "/" + text}, {day.AddDate(0, 0, 1), high, low, v, text, ""}}}},
	}
	return map[string]Picture{
		"bar": i.Bar(), "ruler": i.Ruler(500), "shares": Shares(text, []Part{{text, text, 3}, {text, text, 0}}),
		"series": s.Draw(), "strip": Strip(text, []Day{{text, v, text, true, text}, {text, low, text, false, text}}),
		"heat":  Heat(text, []string{text}, []string{text}, [][]Cell{{{text, text, text, "/" + text}}}),
		"badge": Badge(text, text, text),
	}
}

// TestAnyText: whatever is in the texts and numbers, a picture is well-formed, has no element and no
// attribute of theirs, and no place that is not a number.
func TestAnyText(t *testing.T) {
	allowed := map[string]bool{
		"svg": true, "rect": true, "line": true, "circle": true, "text": true, "title": true, "g": true, "a": true,
		"polyline": true, "polygon": true,
	}
	places := []string{"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "points", "viewBox"}
	number := rapid.OneOf(rapid.Float64Range(-2, 2), rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1)}))
	text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
		`"><script>alert(1)</script>`, "\x00\x1b[31m\n", "a' onload='x", "</text></svg>", "\xff\xfe", "漢字 👩‍👩‍👧 \uFFFE", "]]>", "&amp;",
	}))
	rapid.Check(t, func(t *rapid.T) {
		for name, p := range pictures(text.Draw(t, "text"), number.Draw(t, "value"), number.Draw(t, "low"), number.Draw(t, "high")) {
			for element, list := range elements(t, p) {
				if !allowed[element] {
					t.Fatalf("%s has the element %s", name, element)
				}
				for _, attributes := range list {
					for attribute, value := range attributes {
						if strings.HasPrefix(attribute, "on") {
							t.Fatalf("%s has the attribute %s", name, attribute)
						}
						if slices.Contains(places, attribute) && (strings.Contains(value, "NaN") || strings.Contains(value, "Inf")) {
							t.Fatalf("%s has %s=%s", name, attribute, value)
						}
					}
				}
			}
			if table := string(p.Table()); strings.Contains(table, "<script") || strings.Contains(table, "\x00") {
				t.Fatalf("the table of %s: %s", name, table)
			}
		}
	})
}

// TestData: each picture has its data as a table.
func TestData(t *testing.T) {
	for name, p := range pictures("word", .5, .25, .75) {
		if len(p.Rows) == 0 {
			t.Errorf("%s has no data", name)
		}
		for _, row := range p.Rows {
			if len(row) != len(p.Head) {
				t.Errorf("%s: the row %q has not the columns %q", name, row, p.Head)
			}
		}
	}
	i := Interval{Title: "effect", Value: -.121, Low: -.144, High: -.097, From: -.2, To: .2, Margin: .02, Label: percent}
	p := i.Ruler(600)
	if got := strings.Join(p.Rows[0], "|"); got != "effect|-12 %|-14 %|-10 %|±2 %" {
		t.Errorf("the table is %s", got)
	}
	if table := html.UnescapeString(string(p.Table())); !strings.Contains(table, `<th scope="row">effect</th><td>-12 %</td>`) {
		t.Errorf("the table is %s", table)
	}
}

// TestShares: the parts fill the whole, and one of 10,000 can be seen.
func TestShares(t *testing.T) {
	p := Shares("pairs", []Part{{"lost", "fail", 1}, {"same", "same", 9998}, {"won", "pass", 1}, {"none", "error", 0}})
	rects := elements(t, p)["rect"]
	if len(rects) != 3 || rects[0]["width"] != "0.6" || rects[1]["width"] != "98.78" || rects[2]["x"] != "99.38" {
		t.Errorf("the parts are %v", rects)
	}
	if len(p.Rows) != 4 {
		t.Errorf("the data is %q", p.Rows)
	}
}

// TestGaps: no data is never drawn as a value, and an axis that does not start at 0 says so.
func TestGaps(t *testing.T) {
	var points []Point
	for i := range 10 {
		p := Point{At: time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC), Value: .9, Low: .8, High: 1}
		if i == 4 {
			p.Value = math.NaN()
		}
		points = append(points, p)
	}
	s := Series{Title: "rate", From: .5, To: 1, Label: percent, Width: 600, Height: 160, Lines: []Line{{Name: "gpt-5", Points: points}}}
	found := elements(t, s.Draw())
	if len(found["polyline"]) != 2 || len(found["circle"]) != 9 || len(found["polygon"]) != 2 {
		t.Errorf("%d lines, %d points, %d bands", len(found["polyline"]), len(found["circle"]), len(found["polygon"]))
	}
	if p := s.Draw(); !strings.Contains(string(p.SVG), "⩾ 50 %") || p.Rows[4][2] != "–" {
		t.Errorf("the axis is not marked, or the gap is in the table as %q", p.Rows[4])
	}
	if p := Strip("days", []Day{{Name: "1 Nov", Value: math.NaN()}}); elements(t, p)["rect"][0]["class"] != "gap" {
		t.Errorf("a day without data is %s", p.SVG)
	}
	if p := Heat("cases", []string{"a"}, []string{"1", "2"}, [][]Cell{{{}, {Class: "pass", Words: "1/1"}}}); len(elements(t, p)["rect"]) != 1 {
		t.Errorf("a field without data is drawn: %s", p.SVG)
	}
}
