package runner

import (
	"errors"
	"testing"

	"github.com/plumb-eval/plumb"
)

func ask(text string) plumb.Request {
	return plumb.Request{CaseID: "a-1", Messages: []plumb.Message{{Role: plumb.RoleUser, Content: text}}, Repetition: 1, Session: 1}
}

func failure(t *testing.T, err error) *plumb.Failure {
	t.Helper()
	var f *plumb.Failure
	if !errors.As(err, &f) {
		t.Fatalf("error %v, want a failure", err)
	}
	return f
}
