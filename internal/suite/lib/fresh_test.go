package lib

import (
	"os"
	"testing"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/plumb-eval/plumb/internal/golden"
	"github.com/plumb-eval/plumb/internal/script"
)

// The modules in the package are what their sources make; UPDATE=1 makes them.
func TestModulesAreFresh(t *testing.T) {
	for name, embedded := range map[string]string{"plumb": plumbModule, "entry": entryModule} {
		source := map[string]string{"plumb": "src/index.ts", "entry": "src/entry.ts"}[name]
		result := api.Build(api.BuildOptions{
			EntryPoints: []string{source}, Bundle: true, External: []string{"node:*", "plumb"},
			Format: api.FormatCommonJS, Platform: api.PlatformNeutral, Target: api.ES2024,
			// Names stay: they decide where captureStackTrace begins.
			MinifyWhitespace: true, MinifySyntax: true, Charset: api.CharsetUTF8,
		})
		for _, m := range result.Errors {
			t.Errorf("%s: %s", source, m.Text)
		}
		if len(result.Errors) > 0 {
			continue
		}
		code, err := script.Compile(string(result.OutputFiles[0].Contents))
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case golden.Updating():
			if err := os.WriteFile("modules/"+name+".bin", code, 0o666); err != nil {
				t.Fatal(err)
			}
		case string(code) != embedded:
			t.Errorf("modules/%s.bin is not what %s makes: run go generate ./internal/suite/lib", name, source)
		}
	}
}
