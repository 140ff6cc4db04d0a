package digest_test

import (
	"fmt"

	"github.com/plumb-eval/plumb/digest"
)

func ExampleCanonical() {
	suite := "{\"id\": \"b\", \"n\": 1e1}\n\n{\"id\": \"a\", \"text\": \"é\"}\n"
	canonical, err := digest.Canonical([]byte(suite))
	fmt.Println(string(canonical), err)
	// Output: [{"id":"a","text":"\u00e9"},{"id":"b","n":10.0}] <nil>
}

func ExampleSuite() {
	one, _ := digest.Suite([]byte(`{"id":"a","input":"Hi"}`))
	same, _ := digest.Suite([]byte(`{ "input": "Hi", "id": "a" }` + "\n"))
	fmt.Println(one == same)
	// Output: true
}
