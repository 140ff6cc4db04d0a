package transcript

import (
	"slices"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb"
)

func TestWithoutMissing(t *testing.T) {
	tests := []struct {
		output string
		reads  []string
		want   []string
	}{
		{"alpha\n", []string{"/w/a.txt"}, []string{"/w/a.txt"}},
		{"cat: a.txt: No such file or directory\n", []string{"/w/a.txt"}, nil},
		{"alpha\ncat: b/a.txt: No such file or directory\n", []string{"/w/a.txt", "/w/b/a.txt"}, []string{"/w/a.txt"}},
		{"head: cannot open 'a.txt' for reading: No such file or directory\r\n", []string{"/w/a.txt"}, nil},
		{
			"sed: can't read ./a.txt: No such file or directory\nbeta\n",
			[]string{"/w/a.txt", "/w/ba.txt"},
			[]string{"/w/ba.txt"},
		},
		{"grep: /w/a.txt: No such file or directory", []string{"/w/a.txt"}, nil},
		{
			"alpha\nls: cannot access 'other.txt': No such file or directory",
			[]string{"/w/a.txt"},
			[]string{"/w/a.txt"},
		},
		{"alpha\nNo such file or directory", []string{"/w/a.txt"}, []string{"/w/a.txt"}},
		{"No such file or directory", []string{"/w/a.txt"}, nil}, // an output without anything else
	}
	for _, tt := range tests {
		r := NewRecorder(&Format{Name: "claude-code"}, &Transcript{Cwd: "/w"})
		r.CommandOnly(Origin{Call: "c"}, "cat")
		r.CommandReads(Origin{Call: "c"}, "cat "+strings.Join(tt.reads, " "))
		r.ToolResult(Origin{Call: "c"}, tt.output, false)
		r.FileRead(Origin{Call: "d"}, "/w/a.txt") // of another call
		r.finish()
		var got []string
		for _, e := range r.Report.Events {
			if e.Type == plumb.SessionFileRead && e.CallID == "c" {
				got = append(got, e.Path)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: reads %q, want %q", tt.output, got, tt.want)
		}
	}
}

// TestLinesOfOtherFiles: files have lines in common. Such a line does not prove that a file was read
// when the command shows another file that has it.
func TestLinesOfOtherFiles(t *testing.T) {
	const common = "license: Apache License 2.0\nFollow the common rules of this team.\n"
	files := map[string]string{"/w/a.md": "name: a\n" + common + "Use a carefully.\n", "/w/b.md": "name: b\n" + common + "Use b carelessly.\n"}
	for _, tt := range []struct {
		script, output, unproven string
		read                     []string
	}{
		{"x=$(cat a.md); cat b.md", files["/w/b.md"], "/w/a.md", []string{"/w/b.md"}},
		{"sed -n 100,200p a.md; cat b.md", files["/w/b.md"], "/w/a.md", []string{"/w/b.md"}},
		{"grep zzz a.md || cat b.md", files["/w/b.md"], "/w/a.md", []string{"/w/b.md"}},
		{"jq .x a.md; cat b.md", files["/w/b.md"], "/w/a.md", []string{"/w/b.md"}},
		{"cat a.md | awk '/zzz/'; cat b.md", files["/w/b.md"], "/w/a.md", []string{"/w/b.md"}},
		// These show both.
		{"cat a.md b.md", files["/w/a.md"] + files["/w/b.md"], "", []string{"/w/a.md", "/w/b.md"}},
		{
			"sed -n 1,200p a.md; sed -n 1,200p b.md", files["/w/a.md"] + files["/w/b.md"], "",
			[]string{"/w/a.md", "/w/b.md"},
		},
		{"head -n 3 a.md; head -n 3 b.md", "name: a\n" + common + "name: b\n" + common, "", []string{"/w/a.md", "/w/b.md"}},
	} {
		r := NewRecorder(&Format{Name: "codex"}, &Transcript{Cwd: "/w"})
		r.Content = func(path string) Content { return Content{Versions: []string{files[path]}, Sure: true} }
		r.CommandOnly(Origin{Call: "c"}, tt.script)
		r.CommandReads(Origin{Call: "c"}, tt.script)
		r.ToolResult(Origin{Call: "c"}, tt.output, false)
		r.Exit("c", 0)
		r.finish()
		if got := r.Report.Files.ObservedReads; !slices.Equal(got, tt.read) {
			t.Errorf("%q: reads %q, want %q", tt.script, got, tt.read)
		}
		if got := strings.Join(r.Report.UnprovenReads, " "); got != tt.unproven {
			t.Errorf("%q: unproven %q, want %q", tt.script, got, tt.unproven)
		}
	}
}
