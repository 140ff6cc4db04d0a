package convert

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"

	"github.com/plumb-eval/plumb/internal/text"
	"github.com/plumb-eval/plumb/schema"
)

// suite renders the suite, or nil if no case can be carried over. Cases that are left out follow as
// comments.
func (w *work) suite() []byte {
	var cases []any
	var left []*item
	defaults, vars := w.common()
	for _, i := range w.cases {
		if len(i.lost) > 0 {
			left = append(left, i)
			continue
		}
		cases = append(cases, i.object(len(defaults), vars))
	}
	if len(cases) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, line := range w.comment {
		fmt.Fprintf(&b, "# %s\n", line)
	}
	var top object
	if len(w.prompts) > 0 {
		var prompts []any
		for _, p := range w.prompts {
			if !p.lost {
				prompts = append(prompts, p.object())
			}
		}
		top.set("prompts", prompts)
	}
	var shared object
	if len(vars) > 0 {
		shared.set("vars", vars)
	}
	if len(defaults) > 0 {
		shared.set("assertions", defaults)
	}
	if len(shared) > 0 {
		top.set("defaults", shared)
	}
	top.set("cases", cases)
	appendYAML(&b, top, 0)
	b.WriteString("\n")
	if len(left) > 0 {
		b.WriteString("\n# Left out, because a part of them could not be carried over:\n")
	}
	for _, i := range left {
		for _, reason := range i.lost {
			fmt.Fprintf(&b, "# %s:%d: %s\n", i.file, i.place.Line, text.OneLine(reason))
		}
		var text bytes.Buffer
		appendYAML(&text, []any{i.object(0, nil)}, 2)
		for line := range strings.SplitSeq("  "+text.String(), "\n") {
			b.WriteString("# " + line + "\n")
		}
	}
	return b.Bytes()
}

// writtenID returns the id in the suite. If only one of several prompts is left, it names the prompt, as
// it would with the others.
func (i *item) writtenID() string {
	if i.only == "" {
		return i.id
	}
	return i.id + "." + i.only
}

// object returns the case without the first checks and without the given variables, which the
// defaults of the suite have.
func (i *item) object(checks int, vars object) object {
	o := object{{"id", i.writtenID()}}
	var own object
	for _, v := range i.vars {
		if _, shared := vars.get(v.key); !shared {
			own = append(own, v)
		}
	}
	if len(own) > 0 {
		o.set("vars", own)
	}
	o = append(o, i.keys...)
	if rest := i.checks[min(checks, len(i.checks)):]; len(rest) > 0 {
		o.set("assertions", rest)
	}
	return o
}

// common returns the leading checks and the variables that all cases share and that were written
// as defaults.
func (w *work) common() (checks []any, vars object) {
	var first *item
	for _, i := range w.cases {
		if len(i.lost) > 0 {
			continue
		}
		if first == nil {
			first, checks = i, i.checks[:i.defaults]
			for _, v := range i.vars {
				if w.isDefault(v.key) {
					vars = append(vars, v)
				}
			}
			continue
		}
		n := 0
		for n < min(len(checks), i.defaults) && reflect.DeepEqual(checks[n], i.checks[n]) {
			n++
		}
		checks = checks[:n]
		var same object
		for _, v := range vars {
			if own, ok := i.vars.get(v.key); ok && reflect.DeepEqual(own, v.value) {
				same = append(same, v)
			}
		}
		vars = same
	}
	return checks, vars
}

func (w *work) isDefault(name string) bool {
	_, ok := w.defaultVars.get(name)
	return ok
}

// config renders plumb.yaml.
func (w *work) config() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# yaml-language-server: $schema=%s\n", schema.ConfigURL)
	top := object{{"suites", []any{SuiteFile}}}
	if len(w.runners) > 0 {
		top.set("runners", w.runners)
	}
	if w.judge != nil {
		top.set("judge", w.judge)
	}
	if w.embedder != nil {
		top.set("embedder", w.embedder)
	}
	if len(w.run) > 0 {
		top.set("run", w.run)
	}
	appendYAML(&b, top, 0)
	b.WriteString("\n")
	return b.Bytes()
}
