package digest_test

import (
	"fmt"

	"github.com/plumb-eval/plumb"
	"github.com/plumb-eval/plumb/digest"
)

// The order of lines and keys does not change the hash of a suite.
func ExampleSuite() {
	for _, text := range []string{
		`{"id": "a", "input": "1+1?"}` + "\n" + `{"id": "b", "input": "2+2?"}` + "\n",
		`{"input": "2+2?", "id": "b"}` + "\n" + `{"id": "a", "input": "1+1?"}` + "\n",
		`{"id": "a", "input": "1+2?"}` + "\n" + `{"id": "b", "input": "2+2?"}` + "\n",
	} {
		hash, err := digest.Suite([]byte(text))
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(hash[:20])
	}
	// Output:
	// sha256:a94b57984163c
	// sha256:a94b57984163c
	// sha256:ed4337be1e3c2
}

func ExampleCanonical() {
	text, err := digest.Canonical([]byte(`{"id": "b", "n": 1.50}` + "\n" + `{"id": "a", "text": "é"}` + "\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(text))
	// Output: [{"id":"a","text":"\u00e9"},{"id":"b","n":1.5}]
}

// The hash of a case covers what the case asks and how the answer is judged.
func ExampleCase() {
	question := digest.CaseContent{Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "What is 1+1?"}}}
	same := digest.CaseContent{Messages: []plumb.Message{{Role: plumb.RoleUser, Content: "What is 1+1?"}}}
	other := question
	other.MaxOutputTokens = 10
	fmt.Println(digest.Case(question) == digest.Case(same), digest.Case(question) == digest.Case(other))
	// Output: true false
}

func ExampleBytes() {
	fmt.Println(digest.Bytes([]byte("hello")))
	// Output: sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
}
