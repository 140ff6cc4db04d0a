// The workspace after the session.
import { assert, type Case, type SuiteWorkspaceConfig } from "plumb";
import fs from "node:fs";
import path from "node:path";

export const workspace: SuiteWorkspaceConfig = {
	mode: "isolated",
	templateDir: "./template",
	bootstrap: { command: "sh", args: ["./prepare.sh"], timeoutMs: 1000, env: { LEVEL: "1" } },
};

export const skills = ["./skills/release-notes"];

const template: string = path.basename(path.join(import.meta.dirname, "template"));

const suite: Case[] = [
	{
		id: "holds",
		prompt: "Write the notes.",
		assert(r) {
			assert.equal(template, "template");
			assert.ok(typeof fs.existsSync === "function");
			assert.files.exists(r, "notes.md");
			assert.files.exists(r, "./src");
			assert.files.notExists(r, "notes.txt");
			assert.files.contains(r, "notes.md", "# Notes");
			assert.files.contains(r, "src/app.ts", /export/);
			assert.files.notContains(r, "notes.md", /TODO/);
		},
	},
	...(["exists", "notExists", "contains", "notContains", "contains-none", "contains-directory", "no-path", "outside", "link"] as const).map((id): Case => ({
		id, prompt: "Fail.",
		assert(r) {
			switch (id) {
				case "exists": return assert.files.exists(r, "src/missing.ts");
				case "notExists": return assert.files.notExists(r, "src");
				case "contains": return assert.files.contains(r, "notes.md", /^Fixed/m);
				case "notContains": return assert.files.notContains(r, "notes.md", "Notes");
				case "contains-none": return assert.files.contains(r, "missing/notes.md", "x");
				case "contains-directory": return assert.files.contains(r, "src", "x");
				case "outside": return assert.files.exists(r, "src/../../elsewhere");
				case "link": return assert.files.exists(r, "link/hostname");
				case "no-path": return assert.files.exists(r, "");
			}
		},
	})),
];

export default suite;
