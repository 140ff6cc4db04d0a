package doc

import "testing"

func TestParseData(t *testing.T) {
	t.Parallel()
	for _, d := range []struct{ file, text, want, problems string }{
		{"a.csv", "\uFEFFa, b \n1,\"x\ny\"\n", `[{"a":"1","b":"x\ny"}]`, ""},
		{"a.tsv", "a\tb\n1\t2\n", `[{"a":"1","b":"2"}]`, ""},
		{"a.csv", "a,b\n", `[]`, ""},
		{"a.csv", "", `[]`, "a.csv:1:1: the file is empty (the first line has the names of the columns)"},
		{"a.csv", "a,a\n1,2\n", `[{"a":"1","a":"2"}]`, `a.csv:1:3: column "a" is there twice (columns 1 and 2)`},
		{"a.csv", "a,b\n1\n", `[]`, "a.csv:2:1: the row does not have as many cells as there are columns " +
			`(put a cell that contains a comma into quotes, and write a quote in it as "")`},
		{"a.csv", "a\n\xff\n", `null`, "a.csv:2:1: byte 0xFF is not valid UTF-8 (save the file as UTF-8)"},
		{"a.jsonl", "{\"a\": 1}\r\n\n[2]\r{\"a\": 1, \"a\": 2}\n{", `[{"a":1},[2],{"a":1,"a":2}]`, "a.jsonl:4:10: duplicate key \"a\"\n" +
			"a.jsonl:5:2: invalid JSON: the line ends too early, expected '}'"},
		{"a.json", `{"a": 1}`, `{"a": 1}`, ""},
		{"a.yaml", "- a: 010\n", `[{"a":8}]`, ""},
		{"a.txt", "a", `[]`, `a.txt: ".txt" is not the extension of a data file (known: .csv, .tsv, .jsonl, .json, .yaml)`},
	} {
		v, problems := ParseData(d.file, []byte(d.text), ParseYAML)
		if got := string(v.JSON()); got != d.want || problems.Error() != d.problems {
			t.Errorf("%s %q: %s, %s\nwant %s, %s", d.file, d.text, got, problems.Error(), d.want, d.problems)
		}
	}
	v, _ := ParseData("a.csv", []byte("a,b\n\"x\ny\",z\n"), ParseYAML)
	if m := v.List[0].Members[1]; m.Place != (Place{1, 3}) || m.Value.Place != (Place{3, 4}) {
		t.Errorf("places %v, %v", m.Place, m.Value.Place)
	}
}

// TestParseWritten: scalars without quotes are texts as they are written.
func TestParseWritten(t *testing.T) {
	t.Parallel()
	v, problem := ParseWritten("a.yaml", []byte("- 010\n- yes\n- ~\n-\n- 1.50 # c\n- .inf\n- 'q'\n- |\n  b\n- &a 0x1\n- *a\n"), YAMLValues)
	if problem != nil {
		t.Fatal(problem)
	}
	if got, want := string(v.JSON()), `["010","yes","~","null","1.50",".inf","q","b\n","0x1","0x1"]`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	for i, plain := range []bool{true, true, true, true, true, true, false, false, true, true} {
		if v.List[i].Plain() != plain {
			t.Errorf("value %d: plain is %t", i, v.List[i].Plain())
		}
	}
	if _, problem = ParseWritten("a.yaml", []byte("a: 1\na: 2\n"), YAMLValues); problem == nil || problem.Pos.Line != 2 {
		t.Error("a key twice is no problem:", problem)
	}
}
