package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"github.com/plumb-eval/plumb"
)

// capitals are the questions of matrixLog with their answers.
func capitals() [][2]string {
	return [][2]string{
		{"France", "Paris"}, {"Japan", "Tokyo"}, {"Australia", "Canberra"}, {"Brazil", "Brasília"}, {"Canada", "Ottawa"},
		{"Turkey", "Ankara"}, {"Switzerland", "Bern"}, {"Morocco", "Rabat"}, {"New Zealand", "Wellington"},
		{"South Korea", "Seoul"}, {"Kenya", "Nairobi"}, {"Kazakhstan", "Astana"}, {"Vietnam", "Hanoi"}, {"Ecuador", "Quito"},
		{"Iceland", "Reykjavík"}, {"Pakistan", "Islamabad"}, {"Myanmar", "Naypyidaw"}, {"Nigeria", "Abuja"},
		{"Portugal", "Lisbon"}, {"Tanzania", "Dodoma"},
	}
}

// matrixLog is a run of items with two prompts on two models, as a suite with prompts makes it. Some
// answers are wrong, and one could not be had.
func matrixLog(items, repeat int) *log {
	i := info("gpt-5", "gpt-5-mini")
	i.SuiteName, i.SuitePath, i.Repeat = "capitals", "capitals.yaml", repeat
	texts := map[string]string{
		"short": "Capital of %s?",
		"tutor": "You are a patient geography tutor.\n\nA pupil asks: what is the capital of %s?\n" +
			"Answer in one or two sentences. Name the city first, then add one fact that helps the pupil to remember it. " +
			"Do not mention other cities unless people often confuse them with the capital, and do not praise the question.",
	}
	all := capitals()
	var cases []plumb.CaseInfo
	for n := range items {
		for _, prompt := range []string{"short", "tutor"} {
			item := "capital-of-" + strings.ToLower(strings.ReplaceAll(all[n%len(all)][0], " ", "-"))
			if n >= len(all) {
				item += fmt.Sprintf("-%04d", n)
			}
			cases = append(cases, plumb.CaseInfo{
				ID: item + "." + prompt, Item: item, Prompt: prompt, Category: "geography", Tags: []string{[]string{"smoke", "rare"}[n%2]},
			})
		}
	}
	l := newLog(i, cases...)
	for n, c := range cases {
		country, city := all[n/2%len(all)][0], all[n/2%len(all)][1]
		for m, model := range []string{"gpt-5", "gpt-5-mini"} {
			var last *plumb.Judgement
			passes := 0
			for repetition := 1; repetition <= repeat; repetition++ {
				text := city
				if c.Prompt == "tutor" {
					text = fmt.Sprintf("%s is the capital of %s. ", city, country) + []string{
						"It is the seat of the government and of most embassies, although it is not always the largest city of the country.",
						"Many people expect the largest city here, so remember that the government sits in a place that was chosen for it.\n\nTip: picture the letter **%s** on the map.",
					}[m]
					text = strings.ReplaceAll(text, "%s", city[:1])
				}
				j := passed(verdict("contains", true, "the output contains "+city, city, text))
				if wrong := n%14 == 5 && m == 1 || n%20 == 6 || repeat > 1 && n%6 == 0 && repetition == 2; wrong {
					text = strings.ReplaceAll(text, city, "Old Town")
					j = failed(verdict("contains", false, fmt.Sprintf("the output does not contain %q", city), city, text))
				} else {
					passes++
				}
				last = j
				r := answer(text, int64(180+(n*37+m*91)%900))
				r.Prompt = fmt.Sprintf(texts[c.Prompt], country)
				if n == 9 && m == 0 {
					f := &plumb.Failure{Origin: plumb.OriginRunner, Class: plumb.OriginRunner.Class(), Message: "openai: 503 after 6 attempts"}
					last = broken(f)
					l.session(c.ID, model, repetition, 1, nil, f, last)
					continue
				}
				l.session(c.ID, model, repetition, 1, r, nil, j)
			}
			res := resultOf(repeat, new(0.0021), last)
			if repeat > 1 && res.Errored == 0 {
				res.Passed, res.Failed, res.Score = passes, repeat-passes, float64(passes)/float64(repeat)
				if passes < repeat {
					res.Outcome, res.Status = plumb.OutcomeFail, plumb.StatusFailed
				}
			}
			l.finish(c.ID, model, res)
		}
	}
	return l.end("", 0)
}

var _ = cmp.Or[int]
var _ = json.Marshal
var _ = filepath.Join
var _ = kb.Enter

func TestShots(t *testing.T) {
	b := newBrowser(t)
	file := openable(t, matrixLog(20, 1))
	for _, look := range []struct {
		name, color   string
		width, height int64
	}{{"light", "light", 1440, 1000}, {"dark", "dark", 1440, 1000}, {"phone", "light", 390, 844}} {
		b.size(look.width, look.height)
		b.media("", "prefers-color-scheme", look.color)
		b.open(file, "")
		b.shot("top-" + look.name)
		ask[any](b, `location.hash = "matrix", 0`)
		b.wait(`document.querySelector(".mcell")`)
		b.shot("matrix-" + look.name)
		ask[any](b, `scrollBy(0, 900), 0`)
		b.wait(`document.querySelector(".mcell")`)
		b.shot("down-" + look.name)
		if wide := ask[int](b, "document.documentElement.scrollWidth"); int64(wide) > look.width {
			t.Errorf("%s: %d pixels wide", look.name, wide)
		}
		for _, text := range append(ask[[]string](b, faint), ask[[]string](b, unusable)...) {
			t.Errorf("%s: %s", look.name, text)
		}
	}
	b.size(1440, 1000)
	b.media("", "prefers-color-scheme", "light")
	b.open(openable(t, matrixLog(20, 3)), "")
	ask[any](b, `location.hash = "matrix", 0`)
	ask[any](b, `(() => { const s = document.querySelector("#matrixtools select"); s.value = "2"; s.dispatchEvent(new Event("change")); document.querySelector(".menu summary").click(); })()`)
	b.wait(`document.querySelector("ins")`)
	b.shot("diff")
	b.open(b.file(), "")
	ask[any](b, `location.hash = "matrix", document.querySelector("#matrixtools .chip").click(), 0`)
	b.shot("compact")
	if axe := os.Getenv("AXE"); axe != "" {
		code, err := os.ReadFile(axe)
		if err != nil {
			t.Fatal(err)
		}
		for _, view := range []string{"", "x0", "c0/1.1,1/1.1"} {
			for _, color := range []string{"light", "dark"} {
				b.media("", "prefers-color-scheme", color)
				b.open(file, view)
				ask[any](b, string(code)+";0")
				for _, v := range ask[[]string](b, `axe.run().then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160)).join(" | ")))`) {
					t.Errorf("#%s %s: %s", view, color, v)
				}
			}
		}
	}
}
