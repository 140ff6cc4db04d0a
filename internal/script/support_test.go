package script_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"
)

type rawJSON = json.RawMessage

// timeout is a context that ends with the test or after d.
func timeout(t *testing.T, d time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	return context.WithTimeout(t.Context(), d)
}
