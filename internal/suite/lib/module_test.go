package lib

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plumb-eval/plumb/internal/script"
)

// TestJudgeSlowed: a call that takes too long only beside others is repeated alone, also if the module loads too slowly then.
func TestJudgeSlowed(t *testing.T) {
	const calls = 6
	const wait = `while ((globalThis as any).__plumb.host("host", "alone", "[]") === "false");`
	for name, text := range map[string]string{
		"call": `export default [{ id: "a", prompt: "p", assert() { WAIT } }];`,
		"load": `WAIT export default [{ id: "a", prompt: "p", assert() {} }];`,
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.ts")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "WAIT", wait)), 0o600); err != nil {
				t.Fatal(err)
			}
			program, err := Build(file)
			if err != nil {
				t.Fatal(err)
			}
			h, room := Host{LoadTimeout: time.Second}, NewRoom()
			o := h.Options(filepath.Dir(file))
			o.Host = map[string]script.HostFunc{"alone": func(context.Context, []json.RawMessage) (any, error) {
				begun := room.begun.Load()
				return begun == 0 || begun >= calls && room.running.Load() == 1, nil
			}}
			m, err := h.Load(t.Context(), program, o, room)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			var all sync.WaitGroup
			for range calls {
				all.Go(func() {
					var out judged
					err := m.Judge(t.Context(), &out, Judging{
						Options: o, Limit: time.Second, Entry: "assert", Args: []any{"a", report(t, ""), evidence("")},
					})
					if err != nil || len(out.Failures) > 0 {
						t.Errorf("%v, %+v", err, out.Failures)
					}
				})
			}
			all.Wait()
		})
	}
}
