package script

import "strings"

// Load returns a program that has no file: it evaluates additional modules, such as those that register functions for
// [VM.Call].
func Load(modules ...string) *Program {
	var code strings.Builder
	code.WriteString(bundleHead)
	for _, name := range modules {
		code.WriteString("require(" + quote(name) + ");")
	}
	code.WriteString("__plumb_ns={};" + bundleTail)
	return &Program{Entry: "/" + strings.Join(modules, "+") + ".js", Code: []byte(code.String())}
}
