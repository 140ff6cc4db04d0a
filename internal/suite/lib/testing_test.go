package lib

import (
	"os"
	"strings"
	"testing"

	"github.com/plumb-eval/plumb/internal/script"
)

// People who test helpers of their suites have the case's surroundings without a case.
func TestModuleTesting(t *testing.T) {
	file := t.TempDir() + "/a.ts"
	if err := os.WriteFile(file, []byte(`
import { assert, commandMatcher } from "plumb";
import { runWithSoftAssertions, parseCommand } from "plumb/testing";
import * as skillgym from "skillgym/testing";

const thrown = async (callback: () => unknown) => {
	try { await runWithSoftAssertions(callback); return "nothing"; } catch (e) { return e.message + " " + e.operator + " " + e.actual + "/" + e.expected; }
};
assert.equal(runWithSoftAssertions, skillgym.runWithSoftAssertions);
assert.equal(parseCommand("git status").executable, "git");
assert.deepEqual(commandMatcher("x").build(), { executable: "x", positionals: [], options: undefined, endOfOptions: undefined, strict: false });
assert.deepEqual(commandMatcher(/x/).args("a", /b/).flag("-f").option("-m", "1").option("-m", /2/).endOfOptions().exact().build(),
	{ executable: /x/, positionals: ["a", /b/], options: { "-f": true, "-m": ["1", /2/] }, endOfOptions: true, strict: true });
assert.equal(await runWithSoftAssertions(async () => 42), 42);
// Outside a case a soft assertion is a hard one.
assert.throws(() => assert.soft.equal(1, 2), { code: "ERR_ASSERTION" });
console.log(await thrown(() => { assert.soft.ok(0, "a"); assert.soft.ok(0, "b"); }));
console.log(await thrown(async () => { assert.soft.ok(0, "a"); await null; assert.fail("hard"); }));
console.log(await thrown(() => { assert.soft.ok(0, "a"); throw new TypeError("crash"); }));
console.log(await thrown(() => assert.fail("only")));
const both = await Promise.all([1, 2].map((n) => thrown(async () => {
	await new Promise((r) => setTimeout(r, n));
	assert.soft.ok(0, "from " + n);
})));
console.log(both.join("\n"));
// What a broken-off callback still does belongs to nobody.
let late;
await runWithSoftAssertions(() => { late = new Promise((r) => setTimeout(r, 1)).then(() => assert.soft.ok(0, "late")); });
await assert.rejects(late, /late/);
`), 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	vm(t, file, script.Environment{Stdout: &out})
	const want = `2 assertion failures collected during case execution:
1. a
2. b softAssertions 2/0
2 assertion failures collected during case execution:
1. a
2. hard softAssertions 2/0
crash undefined undefined/undefined
only fail undefined/undefined
1 assertion failure collected during case execution:
1. from 1 softAssertions 1/0
1 assertion failure collected during case execution:
1. from 2 softAssertions 1/0
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

func TestPublicValues(t *testing.T) {
	file := t.TempDir() + "/a.ts"
	if err := os.WriteFile(file, []byte(`
import * as plumb from "plumb";
import * as skillgym from "skillgym";
import node from "node:assert";
import strict from "node:assert/strict";
const names = (o: object) => Object.keys(o).filter((k) => k !== "default").sort().join(" ");
console.log(names(plumb));
console.log(names(plumb) === names(skillgym), plumb.assert === strict, plumb.assert === node.strict);
console.log(names(plumb.assert));
console.log(names(plumb.assert.soft));
for (const group of ["skills", "commands", "fileReads", "toolCalls", "toolResults", "output", "files", "usage", "permissions"]) {
	console.log(group, names(plumb.assert[group]), names(plumb.assert[group]) === names(plumb.assert.soft[group]));
}
console.log(plumb.BUILT_IN_REPORTER_NAMES.join(" "));
console.log(plumb.assert.soft.strict === plumb.assert.soft, plumb.assert.soft.AssertionError === plumb.assert.AssertionError);
`), 0o666); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	vm(t, file, script.Environment{Stdout: &out})
	sameJSON(t, "public", strings.Split(strings.TrimSpace(out.String()), "\n"))
}
