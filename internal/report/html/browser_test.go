package html

import (
	"context"
	flags "flag"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	pagelog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// patience is how long a browser may take to show something, on a machine that does much else.
const patience = 2 * time.Minute

// browser does with a page what people do, in a real browser, and keeps what went wrong behind the
// page: exceptions, messages on the console, violations of the content policy, requests for
// anything but the page. Each of them fails the test.
type browser struct {
	t   *testing.T
	ctx context.Context //nolint:containedctx // of the browser, as chromedp requires //nolint:containedctx

	mu      sync.Mutex
	page    string // the address without its hash
	blocks  string // the address of the directory of its blocks, or ""
	trouble []string
}

// newBrowser starts a browser, or skips the test where there is none.
func newBrowser(t *testing.T) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("the page is not concurrent: too slow with the race detector")
	}
	t.Parallel() // browsers mostly wait
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil && program == "" {
			program = found
		}
	}
	if program == "" {
		if os.Getenv("PLUMB_CI") != "" {
			t.Fatal("no Chromium")
		}
		t.Skip("no Chromium")
	}
	ctx, stop := chromedp.NewExecAllocator(t.Context(), append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.DisableGPU)...)
	t.Cleanup(stop)
	ctx, closed := chromedp.NewContext(ctx)
	t.Cleanup(closed)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("start the browser: %v", err)
	}
	b.size(1280, 900)
	t.Cleanup(func() {
		for _, text := range b.troubles() {
			t.Errorf("behind the page: %s", text)
		}
	})
	return b
}

func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	add := func(format string, args ...any) { b.trouble = append(b.trouble, fmt.Sprintf(format, args...)) }
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		add("exception: %s: %+v", ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception)
	case *runtime.EventConsoleAPICalled:
		add("console: %s: %+v", ev.Type, ev.Args)
	case *pagelog.EventEntryAdded:
		add("%s %s: %s", ev.Entry.Source, ev.Entry.Level, ev.Entry.Text)
	case *network.EventRequestWillBeSent:
		at, _, _ := strings.Cut(ev.Request.URL, "#")
		if at != b.page && (b.blocks == "" || !strings.HasPrefix(at, b.blocks+"/")) {
			add("request for %s", ev.Request.URL)
		}
	}
}

// troubles returns what went wrong since the last call.
func (b *browser) troubles() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := b.trouble
	b.trouble = nil
	return out
}

// do runs actions of chromedp.
func (b *browser) do(what string, actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	if err := chromedp.Do(ctx, actions...); err != nil {
		b.t.Fatalf("%s: %v", what, err)
	}
}

// ask evaluates an expression in the page. A promise is waited for.
func ask[T any](b *browser, expression string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// wait returns when an expression is true. It asks from outside: the content policy forbids what
// chromedp would wait with.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for end := time.Now().Add(patience); !ask[bool](b, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.shot("waiting")
			b.t.Fatalf("this did not come true: %s\nat %s, shown %q, on the page:\n%.2000s", expression,
				ask[string](b, "location.hash"),
				ask[string](b, "String(document.documentElement.dataset.shown)"),
				ask[string](b, "document.body.innerText"))
		}
	}
}

// open loads the page in a file at one of its views, and returns when that is to be seen.
func (b *browser) open(file, view string) {
	b.t.Helper()
	b.visit((&url.URL{Scheme: "file", Path: filepath.ToSlash(file)}).String(), "", view)
}

// visit loads the page at an address, which may load blocks from a directory.
func (b *browser) visit(address, blocks, view string) {
	b.t.Helper()
	b.mu.Lock()
	b.page, b.blocks = address, blocks
	b.mu.Unlock()
	// A page that is there already would not be loaded for another hash.
	b.do("leave", chromedp.Navigate("about:blank"))
	b.do("open "+address, chromedp.Navigate(b.page+"#"+view))
	b.sees(view)
}

// sees returns when a view is there, whole and at rest: "" is the first page.
func (b *browser) sees(view string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("document.documentElement.dataset.shown === %q", view))
}

// accessible fails the test for each rule of WCAG 2 (A and AA) and each good practice that the view
// violates, by axe-core. It needs axe-core, which .ci/run installs.
func (b *browser) accessible(what string) {
	b.t.Helper()
	axe, err := os.ReadFile("../../../third_party/script-packages/node_modules/axe-core/axe.min.js")
	if err != nil {
		if os.Getenv("PLUMB_CI") != "" {
			b.t.Fatal(err)
		}
		return
	}
	ask[bool](b, string(axe)+";true")
	for _, text := range ask[[]string](b, `axe.run(document, {resultTypes: ["violations"]}).then((r) => r.violations.flatMap((v) =>
		v.nodes.map((n) => v.id + " (" + v.help + "): " + n.html.slice(0, 150) + ": " + n.failureSummary)))`) {
		b.t.Errorf("%s: %s", what, text)
	}
}

func (b *browser) size(width, height int64) {
	b.t.Helper()
	b.do("size", chromedp.EmulateViewport(width, height))
}

// media emulates "print" or "screen", and features such as "prefers-color-scheme", "dark".
func (b *browser) media(media string, features ...string) {
	b.t.Helper()
	p := emulation.SetEmulatedMediaParams{Media: media}
	for pair := range slices.Chunk(features, 2) {
		p.Features = append(p.Features, &emulation.MediaFeature{Name: pair[0], Value: pair[1]})
	}
	b.do("media", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, p)
		return chromedp.Void{}, err
	})
}

// press types keys, one after the other, to whatever has the focus. A key makes its letter only
// where the page lets it, unlike with chromedp.KeyEvent, which sends the letter as well.
func (b *browser) press(keys string) {
	b.t.Helper()
	b.do("press", func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for _, r := range keys {
			events := kb.Encode(r)
			if len(events) == 3 { // down, letter, up
				events[0].Type, events[0].Text, events[0].UnmodifiedText = input.DispatchKeyEventTypeKeyDown,
					events[1].Text, events[1].UnmodifiedText
				events = slices.Delete(events, 1, 2)
			}
			for _, e := range events {
				if _, err := cdp.Call(ctx, t, input.DispatchKeyEvent, *e); err != nil {
					return chromedp.Void{}, err
				}
			}
		}
		return chromedp.Void{}, nil
	})
}

// click clicks where an element is, as a mouse does: what lies over it gets the click.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.do("click "+selector, chromedp.Click(chromedp.CSS(selector)))
}

// reach scrolls through the page until an element that it creates only near the window is in sight.
func (b *browser) reach(selector string) {
	b.t.Helper()
	found := ask[bool](b, fmt.Sprintf(`(async () => {
		for (let steps = 0; steps < 400; steps++) {
			const e = document.querySelector(%q);
			if (e) e.scrollIntoView({block: "center"});
			else if (scrollY + innerHeight + 5 > document.documentElement.scrollHeight) scrollTo(0, 0);
			else scrollBy(0, 800);
			for (let frames = 0; frames < 3; frames++) await new Promise(requestAnimationFrame);
			if (e && e.isConnected && e.getBoundingClientRect().bottom < innerHeight) return true;
		}
		return false;
	})()`, selector))
	if !found {
		b.t.Fatalf("nowhere: %s", selector)
	}
}

// text returns what a reader sees of an element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return ask[string](b, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// number counts the elements that are to be seen.
func (b *browser) number(selector string) int {
	b.t.Helper()
	return ask[int](b, fmt.Sprintf("[...document.querySelectorAll(%q)].filter((e) => e.checkVisibility()).length",
		selector))
}

// focused describes what has the focus.
func (b *browser) focused() string {
	b.t.Helper()
	return ask[string](b, `(document.activeElement.id && "#" + document.activeElement.id) || document.activeElement.hash || document.activeElement.className || document.activeElement.tagName`)
}

// shot takes a picture of the window, for people: go test -artifacts -outputdir DIR keeps it.
func (b *browser) shot(name string) {
	b.t.Helper()
	if f := flags.Lookup("test.artifacts"); f == nil || f.Value.String() != "true" {
		return
	}
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	b.keep(name+".png", picture)
}

// keep writes an artifact of the test.
func (b *browser) keep(name string, data []byte) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name), data, 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// file returns the file that is open.
func (b *browser) file() string {
	u, err := url.Parse(b.page)
	if err != nil {
		b.t.Fatal(err)
	}
	return u.Path
}
