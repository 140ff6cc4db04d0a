// Package genaiprices holds the price table of the npm package @pydantic/genai-prices (MIT, see LICENSE), pinned in
// package.json and reduced to what the price of a text answer depends on. prices.jsonl is generated and never edited by
// hand; package internal/runner reads it.
package genaiprices

import _ "embed"

//go:generate npm run generate

//go:embed prices.jsonl
var data string

// Data returns the table: one JSON object a line, the first saying where the figures are from and of which day, each
// further one a provider.
func Data() string { return data }
