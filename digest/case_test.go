package digest_test

import (
	"encoding/json"
	"testing"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
)

func content() digest.CaseContent {
	return digest.CaseContent{
		Messages: []plumb.Message{
			{Role: plumb.RoleSystem, Content: "Be brief — “no” more than\n\tone line. 😀"},
			{Role: plumb.RoleUser, Content: `What is 2+2? <b>"four"</b> \`},
		},
		MaxOutputTokens: 100,
		Assertions: []json.RawMessage{
			json.RawMessage(`{"type":"contains_any","ideal":["4","four"],"case_sensitive":false,"weight":1.0}`),
			json.RawMessage("{\n  \"type\": \"numeric\",\n  \"tolerance\": 1E-9, \"ideal\": 4\n}"),
		},
	}
}

// TestCase compares with hashes made by the Python program in the comment of [digest.Case].
func TestCase(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(*digest.CaseContent)
		want   string
	}{
		{
			"whole", func(*digest.CaseContent) {},
			"sha256:d3437f7f61685b53c61f4c4edfc15c791e2e93f7edf8a0a36ee34bfd54a20b11",
		},
		{"assertions in another order and spelling", func(c *digest.CaseContent) {
			c.Assertions = []json.RawMessage{
				json.RawMessage(`{"ideal":4,"tolerance":0.000000001,"type":"num\u0065ric"}`),
				json.RawMessage(` {"case_sensitive":false,"ideal":["4","four"],"type":"contains_any","weight":1e0} `),
			}
		}, "sha256:d3437f7f61685b53c61f4c4edfc15c791e2e93f7edf8a0a36ee34bfd54a20b11"},
		{
			"no cap", func(c *digest.CaseContent) { c.MaxOutputTokens = 0 },
			"sha256:1ce2cb8047f6e51b991acd64727de5509d64dae1f10cda6e4ca7ed99acf62f0d",
		},
		{
			"one assertion", func(c *digest.CaseContent) { c.Assertions = c.Assertions[:1] },
			"sha256:b08179ac52b5a2a1a81062654212b44441adecf5a56ecafb24faa788fae13ece",
		},
		{"messages in another order", func(c *digest.CaseContent) {
			c.Messages[0], c.Messages[1] = c.Messages[1], c.Messages[0]
		}, "sha256:ce7ac266e4c0dc9a1ea58cfae7812b8288506f7481fcd25d82b0bb448a66a385"},
		{
			"least score and transform", func(c *digest.CaseContent) { c.MinScore, c.Transform = new(0.75), "output.trim()" },
			"sha256:39ec934a48095804c49b6c30551b8a01b7cac89170e93a61aa47895525e2fbc3",
		},
		{
			"empty", func(c *digest.CaseContent) { *c = digest.CaseContent{} },
			"sha256:198e3ef2b1b6f9d512682b64df4eef6201b00a1f064f0c5a585e321a0d702e14",
		},
		{
			"invalid UTF-8", func(c *digest.CaseContent) { c.Messages[0].Content = "a\xff\xed\xa0\x80" },
			"sha256:b0c00d64f26228fe643bafa927377ba2b5f64c24172e847757fbd7df7fa08d32",
		},
		{
			"not JSON", func(c *digest.CaseContent) { c.Assertions = []json.RawMessage{json.RawMessage(`{"type":}`)} },
			"sha256:a0af5c0e5b530879545f1330ba3efb4082f4b5b6e58ecfd18de61ea43900b58e",
		},
		{
			"two values", func(c *digest.CaseContent) { c.Assertions = []json.RawMessage{json.RawMessage(`1 2`)} },
			"sha256:8a9080f0d460f02d6bd54a64c240d8fa28eec51122d290e8d0e0131802bde61e",
		},
	} {
		c := content()
		test.change(&c)
		if got := digest.Case(c); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
		c.MinScore, c.Transform = new(0.5), "output.trim()"
		short := func(part digest.CaseContent) string { return digest.Case(part)[len("sha256:"):][:16] }
		want := [3]string{
			digest.Case(c), short(digest.CaseContent{Messages: c.Messages, MaxOutputTokens: c.MaxOutputTokens}),
			short(digest.CaseContent{Assertions: c.Assertions, MinScore: c.MinScore, Transform: c.Transform}),
		}
		var got [3]string
		if got[0], got[1], got[2] = digest.Parts(c); got != want {
			t.Errorf("%s: the parts are %s, want %s", test.name, got, want)
		}
	}
}
