// Package nunjucks holds the browser build of the npm package nunjucks (BSD-2-Clause, see LICENSE), pinned in
// package.json. nunjucks.min.js is minified from the package and never edited by hand: the package's own minified
// build renames methods of the compiler that Plumb overrides; package internal/suite runs it.
package nunjucks

import _ "embed"

//go:generate npm run generate

//go:embed nunjucks.min.js
var source string

// Source returns the JavaScript, which assigns the module to window.nunjucks or module.exports.
func Source() string { return source }
