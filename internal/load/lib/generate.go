//go:build ignore

// Builds modules/*.js from src/*.ts: go generate ./internal/load/lib.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	result := api.Build(api.BuildOptions{
		EntryPointsAdvanced: []api.EntryPoint{
			{InputPath: "src/index.ts", OutputPath: "plumb"},
			{InputPath: "src/entry.ts", OutputPath: "entry"},
		},
		Outdir: "modules", Bundle: true, Write: true,
		Format: api.FormatCommonJS, Platform: api.PlatformNeutral, Target: api.ES2024,
		External: []string{"node:*", "plumb"},
		// The names stay, since they stand in stacks and decide where captureStackTrace begins.
		MinifyWhitespace: true, MinifySyntax: true, Charset: api.CharsetUTF8,
		LogLevel: api.LogLevelWarning,
	})
	if len(result.Errors) > 0 {
		os.Exit(1)
	}
	for _, f := range result.OutputFiles {
		fmt.Println(filepath.Base(f.Path), len(f.Contents))
	}
}
