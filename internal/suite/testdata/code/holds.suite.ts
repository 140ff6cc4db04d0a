// Checks that hold.
import { assert, commandMatcher, type Case } from "skillgym";

const suite: Record<string, Case> = {
	commands: {
		id: "commands",
		prompt: "Run the tests.",
		assert(r) {
			assert.commands.includes(r, "git status");
			assert.commands.includes(r, /^git/y);
			assert.commands.includes(r, commandMatcher("pnpm").arg("test").flag("--watch"));
			assert.commands.includes(r, commandMatcher().args("test").option("--filter", "web").exact());
			assert.commands.includes(r, { executable: /^pn/, positionals: ["test"], options: { "--filter": [/we/] } });
			assert.commands.notIncludes(r, commandMatcher("pnpm").strict());
			assert.commands.count(r, "pnpm", 2);
			assert.commands.atLeast(r, "pnpm", 2);
			assert.commands.atMost(r, "pnpm", 2);
			assert.commands.before(r, "git status", "pnpm test");
			assert.commands.only(r, ["git", "pnpm", "ls"]);
			assert.commands.size(r, 4);
			assert.commands.exactlyOne(r, "git");
			assert.commands.first(r, /^git/);
			assert.commands.last(r, "ls");
			assert.commands.succeeded(r, "git status");
			assert.commands.failed(r, { executable: "pnpm" });
		},
	},
	others: {
		id: "others",
		prompt: "Read the skill.",
		async assert(r) {
			assert.fileReads.includes(r, "SKILL.md");
			assert.fileReads.includes({ ...r, events: [] }, "/skills/house-style/");
			assert.toolCalls.has(r, {});
			assert.toolCalls.has(r, { tool: "as", where: (args) => args.command.startsWith("git") });
			assert.toolCalls.sequence(r, [{ tool: "read" }, { tool: "bash" }, { tool: "bash" }]);
			assert.toolCalls.sequence(r, []);
			assert.toolCalls.only({ ...r, events: [] }, []);
			assert.toolResults.includes(r, { isError: true });
			assert.output.includes(r, "pnpm");
			assert.skills.has(r, "release-notes", { minConfidence: "explicit" });
			assert.skills.has(r, /^release-/);
			assert.skills.notHas(r, "release");
			assert.skills.includes(r, [/style$/, "release-notes"]);
			assert.skills.only(r, [/-/]);
			assert.skills.only(r, ["release-notes"], { minConfidence: "explicit" });
			assert.usage.tokensAtMost(r, 1200);
			assert.usage.stepsAtMost(r, 5);
			assert.permissions.noneDenied({ ...r, permissionDenials: [] });
			assert.files.changed(r, "src/app.ts", { kind: "update" });
			assert.files.changed(r, /\/new\.ts$/);
			assert.files.onlyChanged(r, [/^src\//]);
			await assert.rejects(async () => assert.fail("x"), /x/);
			assert.equal(await assert.classify("late", async () => 42), 42);
			assert.soft.ok(true);
			assert.equal(await assert.soft.rejects(Promise.reject(new Error("x"))), undefined);
		},
	},
};

export default suite;
