package html

import (
	"bufio"
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

// pageScript returns the script of the page: its parts in one scope.
func pageScript() string {
	var b strings.Builder
	b.WriteString("(function(){\n\"use strict\";\n")
	for _, name := range []string{
		"dom.js", "blocks.js", "matrix.js", "cells.js", "overview.js", "pairs.js", "steps.js", "session.js",
		"compare.js", "main.js",
	} {
		b.WriteString(pageFile(name))
	}
	b.WriteString("})();\n")
	return b.String()
}

// contentPolicy allows the page only its own script and style. The page cannot load, send or open
// anything, and the browser does not parse text as markup.
func contentPolicy(script, style string) string {
	hash := func(s string) string {
		sum := sha256.Sum256([]byte(s))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src " + hash(script) + "; style-src " + hash(style) +
		"; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
}

// framed is the part of a page that all pages share.
type framed struct {
	Policy string `redact:"-"`
	Style  template.CSS
	Title  string
	// About is the line at the top that says what the page is about.
	About string
}

// front is what a page shows before any script runs.
type front interface{ frameOf() *framed }

func (f *framed) frameOf() *framed { return f }

// writePage writes one self-contained page: front, rendered with the named template inside of the
// frame; the compressed blocks that fill writes, at most size bytes; and the index of the blocks
// that fill returns, with the script that shows them.
func writePage(
	out io.Writer, r *redact.Redactor, name string, front front, size int, fill func(*blockWriter) (index any, err error),
) error {
	w := bufio.NewWriterSize(out, 256<<10)
	page := template.New("frame").Funcs(template.FuncMap{"diffKind": diffKind, "shown": report.Shown})
	for _, file := range []string{"frame.html", name} {
		if _, err := page.Parse(pageFile(file)); err != nil {
			return err
		}
	}
	style, script := pageFile("page.css"), pageScript()
	f := front.frameOf()
	f.Policy, f.Style = contentPolicy(script, style), template.CSS(style) //nolint:gosec // an embedded file
	if err := page.Execute(w, report.Without(r, front)); err != nil {
		return err
	}
	gz, err := gzip.NewWriterLevel(nil, 4) // most of what level 6 gains, at twice the speed
	if err != nil {
		return err
	}
	index, err := fill(&blockWriter{w: w, left: size, redact: r, gz: gz})
	if err != nil {
		return err
	}
	data, err := json.Marshal(report.Without(r, index)) // escapes what could end a script element
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "<script type=\"application/json\" id=\"index\">%s</script>\n", text.EscapeJSON(data))
	fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", script)
	return w.Flush()
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
