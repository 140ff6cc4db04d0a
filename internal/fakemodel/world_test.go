package fakemodel_test

import (
	"net/http/httptest"
	"testing"

	"github.com/plumb-eval/plumb/internal/fakemodel"
)

const key = "sk-right-key-0123456789"

// start serves o until the test ends.
func start(tb testing.TB, o fakemodel.Behavior) (*fakemodel.Server, string) {
	tb.Helper()
	s := fakemodel.New(o)
	hs := httptest.NewServer(s)
	tb.Cleanup(func() { s.Release(); hs.Close() })
	return s, hs.URL
}
