package html

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/plumb-eval/plumb/internal/redact"
	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/text"
)

//go:embed *.html *.css *.js
var pageFiles embed.FS

// pageFile returns an embedded file of the page.
func pageFile(name string) string {
	b, err := pageFiles.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// Style returns the style sheet of the pages, also for other pages that look like them, and for the
// pictures of package chart.
func Style() string { return pageFile("page.css") }

// Frame is what surrounds a page, and where the blocks of the page are. The zero value makes one
// file that needs nothing else.
type Frame struct {
	// Template is the source of an html/template around the page; "" is that of a file, frame.html,
	// which says what a page needs. The page's script follows it. Data is {{.Data}} in it.
	Template string
	Data     any
	// Keep keeps block n of the page, JSON in gzip, and returns the address from which the page's
	// script loads it: on the host of the page, with Content-Encoding: gzip. Without Keep, the page
	// has its blocks in it.
	Keep func(n int, block []byte) (address string, err error)
	// Limit is the number of bytes that all blocks of a page may have in base64; 0 means 50 MB.
	Limit int
}

// framed is what a frame shows of each page.
type framed struct {
	Policy string `redact:"-"`
	Style  template.CSS
	Title  string
	// About is the line at the top that says what the page is about.
	About string
	Data  any `redact:"-"`
}

// front is what a page shows before any script runs.
type front interface{ inFrame() *framed }

func (f *framed) inFrame() *framed { return f }

// write writes one page: front, rendered with the named template inside of the frame; the compressed
// blocks that fill writes, unless they are kept elsewhere; and the index of the blocks that fill
// returns, with the script that shows them.
func (f *Frame) write(
	out io.Writer, r *redact.Redactor, name string, front front, fill func(*blockWriter) (index any, err error),
) error {
	w := bufio.NewWriterSize(out, 256<<10)
	page := template.New("frame").Funcs(template.FuncMap{"diffKind": diffKind, "shown": report.Shown})
	for _, source := range []string{cmp.Or(f.Template, pageFile("frame.html")), pageFile(name)} {
		if _, err := page.Parse(source); err != nil {
			return err
		}
	}
	style, script := Style(), f.script()
	about := front.inFrame()
	about.Policy, about.Style = f.policy(script, style), template.CSS(style) //nolint:gosec // an embedded file
	about.Data = f.Data
	if err := page.Execute(w, report.Without(r, front)); err != nil {
		return err
	}
	gz, err := gzip.NewWriterLevel(nil, 4) // most of what level 6 gains, at twice the speed
	if err != nil {
		return err
	}
	var addresses []string
	put := func(n int, block []byte) error {
		_, err := fmt.Fprintf(w, "<script type=\"text/plain\" id=\"b%d\">%s</script>\n", n,
			base64.StdEncoding.EncodeToString(block))
		return err
	}
	if f.Keep != nil {
		put = func(n int, block []byte) error {
			address, err := f.Keep(n, block)
			addresses = append(addresses, address)
			return err
		}
	}
	index, err := fill(&blockWriter{put: put, left: cmp.Or(f.Limit, pageSize), redact: r, gz: gz})
	if err != nil {
		return err
	}
	data := func(id string, v any) {
		b, jsonErr := json.Marshal(v) // escapes what could end a script element
		err = cmp.Or(err, jsonErr)
		fmt.Fprintf(w, "<script type=\"application/json\" id=\"%s\">%s</script>\n", id, text.EscapeJSON(b))
	}
	if f.Keep != nil {
		data("addresses", addresses)
	}
	data("index", report.Without(r, index))
	fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", script)
	return cmp.Or(err, w.Flush())
}

// script returns the script of a page: its parts in one scope.
func (f *Frame) script() string {
	blocks := "inpage.js"
	if f.Keep != nil {
		blocks = "fetched.js"
	}
	var b strings.Builder
	b.WriteString("(function(){\n\"use strict\";\n")
	for _, name := range []string{
		"dom.js", "blocks.js", blocks, "windowed.js", "matrix.js", "cells.js", "overview.js", "pairs.js", "steps.js",
		"session.js", "compare.js", "main.js",
	} {
		b.WriteString(pageFile(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// policy allows a page only its own script and style, and to load its blocks if they are not in it.
// The page cannot load, send or open anything else, and the browser does not parse text as markup.
func (f *Frame) policy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	policy := "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
	if f.Keep != nil {
		policy += "; connect-src 'self'"
	}
	return policy
}

// diffKind returns the kind of a line of a diff: "at", "add", "del" or "".
func diffKind(line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "@"):
		return "at"
	case strings.HasPrefix(line, "+"):
		return "add"
	case strings.HasPrefix(line, "-"):
		return "del"
	}
	return ""
}
