package script

import "context"

// Exec runs a program to its end, as `node file.ts` does: the module with its top-level await, then the event loop until
// nothing is left. An uncaught error is printed to Stderr as Node prints it. The exit code is 1 after an uncaught error,
// 13 if the module waits for a promise that never settles, and what the script passed to process.exit or left in
// process.exitCode otherwise. The error is nil unless the program could not be run at all or ctx ended.
func Exec(ctx context.Context, p *Program, o Options) (exitCode int, err error) { panic("not yet") }
