package html

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/plumb-eval/plumb/internal/report"
	"github.com/plumb-eval/plumb/internal/report/reporttest"
)

// TestFrame: a page in the frame of a server loads its blocks by their addresses, and shows what the
// file shows.
func TestFrame(t *testing.T) {
	b := newBrowser(t)
	c := reporttest.LostRun(t)
	l := reporttest.AgentLog()
	for _, test := range []struct {
		name, view string
		write      func(*bytes.Buffer, Frame) error
	}{
		{"run", "x0", func(w *bytes.Buffer, f Frame) error {
			return WriteRun(w, f, &report.Source{Sessions: l.Sessions}, l.Run(t))
		}},
		{"comparison", "c0/1.1,1/1.1", func(w *bytes.Buffer, f Frame) error {
			return WriteComparison(w, f, &report.Source{}, c)
		}},
	} {
		var file, page bytes.Buffer
		blocks := map[string][]byte{}
		frame := Frame{
			Template: strings.Replace(pageFile("frame.html"), "<nav ", "<a href=\"/runs\">runs of {{.Data}}</a><nav ", 1),
			Data:     "<ana>",
			Keep: func(n int, block []byte) (string, error) {
				address := fmt.Sprintf("/blocks/%d", n)
				blocks[address] = bytes.Clone(block)
				return address, nil
			},
		}
		if err := test.write(&file, Frame{}); err != nil {
			t.Fatal(err)
		}
		if err := test.write(&page, frame); err != nil {
			t.Fatal(err)
		}
		if len(blocks) == 0 || bytes.Contains(page.Bytes(), []byte(`id="b0"`)) {
			t.Errorf("%s: %d blocks beside the page", test.name, len(blocks))
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch block, ok := blocks[r.URL.Path]; {
			case r.URL.Path == "/file":
				_, _ = w.Write(file.Bytes())
			case r.URL.Path == "/page":
				_, _ = w.Write(page.Bytes())
			case ok:
				w.Header().Set("Content-Encoding", "gzip")
				_, _ = w.Write(block)
			default:
				http.NotFound(w, r)
			}
		}))
		b.visit(server.URL+"/file", "", test.view)
		want := b.text("#view")
		b.visit(server.URL+"/page", server.URL+"/blocks", test.view)
		if got := b.text("#view"); got != want || len(got) < 100 {
			t.Errorf("%s: the view is\n%s\nwant\n%s", test.name, got, want)
		}
		if got := b.text(".top"); !strings.Contains(got, "runs of <ana>") {
			t.Errorf("%s: the frame is %q", test.name, got)
		}
		if trouble := b.troubles(); len(trouble) > 0 {
			t.Errorf("%s: %q", test.name, trouble)
		}
		clear(blocks)
		b.visit(server.URL+"/page", server.URL+"/blocks", test.view)
		if got := b.text("#view"); !strings.Contains(got, "cannot be loaded: 404") {
			t.Errorf("%s without blocks: %q", test.name, got)
		}
		if trouble := b.troubles(); len(trouble) == 0 || !strings.Contains(trouble[0], "404") { // what the test caused
			t.Errorf("%s without blocks: %q", test.name, trouble)
		}
		b.do("leave", chromedp.Navigate("about:blank"))
		server.Close()
	}
}
