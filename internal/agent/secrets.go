package agent

import (
	"iter"
	"os"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
)

// Secrets yields the values that an agent logs in with, and where they are from: the variables that reach it, and the tokens
// in the credentials files that it is lent. A model may print them.
func Secrets(a *plumb.AgentConfig, getenv func(string) string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		spec, err := Find(a.Type)
		if err != nil {
			return
		}
		more := true
		emit := func(name, value string) {
			if more && value != "" {
				more = yield(name, value)
			}
		}
		if a.APIKeyEnv != "" {
			emit(a.APIKeyEnv, getenv(a.APIKeyEnv))
		}
		for _, name := range spec.Keys {
			for _, end := range []string{"KEY", "TOKEN"} {
				if prefix, open := strings.CutSuffix(name, "*"); open {
					for _, middle := range []string{"API_", "AUTH_", "BEARER_"} {
						emit(prefix+middle+end, getenv(prefix+middle+end))
					}
				} else if strings.HasSuffix(name, end) {
					emit(name, getenv(name))
				}
			}
		}
		for _, c := range spec.Credentials {
			if data, err := os.ReadFile(c.Source(getenv)); err == nil && gjson.ValidBytes(data) {
				tokens(gjson.ParseBytes(data), func(value string) { emit(c.File, value) })
			}
		}
	}
}

// tokens calls fn for each text in a JSON document that is long enough for a token, and has no spaces as one.
func tokens(v gjson.Result, fn func(value string)) {
	const least = 20
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(_, member gjson.Result) bool {
			tokens(member, fn)
			return true
		})
		return
	}
	if v.Type == gjson.String && len(v.Str) >= least && !strings.ContainsAny(v.Str, " /\\") {
		fn(v.Str)
	}
}
