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
