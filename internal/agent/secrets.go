package agent

import (
	"iter"
	"runtime"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/internal/agent/transcript"
	"github.com/plumb-eval/plumb/internal/doc"
)

// Secrets yields the values with which an agent logs in, each with its source: the variables that
// the agent gets, and the tokens in its credentials files. A model may print them.
func Secrets(a *plumb.AgentConfig, getenv func(string) string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		spec, err := Find(a.Type)
		if err != nil {
			return
		}
		more := true
		emit := func(name, value string) {
			more = more && (value == "" || yield(name, value))
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
			if data, err := doc.Read(c.Source(getenv), doc.StateBytes); err == nil && gjson.ValidBytes(data) {
				tokens(gjson.ParseBytes(data), func(value string) { emit(c.File, value) })
			}
		}
	}
}

// tokens calls fn with each string of a JSON document that can be a token: it is long and has
// neither spaces nor slashes.
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

// SignIn returns what the user has to do before an agent can call its model: "" if the environment
// has a variable of its keys, or the user's home its credentials. On macOS agents keep credentials
// in the keychain, which Plumb does not read, so there it returns "".
func SignIn(s Spec, environ []string) string {
	if runtime.GOOS == "darwin" {
		return ""
	}
	values := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
		if value != "" && matchesAny(s.Keys, name) {
			return ""
		}
	}
	for _, c := range s.Credentials {
		if source := c.Source(func(name string) string { return values[name] }); source != "" && transcript.Exists(source) {
			return ""
		}
	}
	return "log in with `" + s.Login + "`, or set " + s.KeyHelp
}
