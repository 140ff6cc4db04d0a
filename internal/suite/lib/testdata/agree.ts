// The checks of suites without code, made with the assert library: agree_test.go compares the two.
import { assert, type Matcher, type SessionReport, type Suite, type ToolCallMatcher, type ToolResultMatcher } from "plumb";

interface Spec {
	type: string;
	equals?: string; contains?: string; pattern?: string; tool?: string; skill?: string; path?: string; ideal?: string;
	executable?: string; positionals?: string[]; options?: Record<string, string | string[] | true>; end_of_options?: boolean; strict?: boolean;
	exit_code?: number; args?: Record<string, unknown>; min_confidence?: any; change?: any;
	count?: number; at_least?: number; at_most?: number; only?: boolean; before?: Spec; not?: boolean; max?: number; in?: any;
}

const escaped = (s: string) => s.replace(/[^A-Za-z0-9]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, "0")}`);
const text = (s: Spec): Matcher =>
	s.equals !== undefined ? new RegExp(`^${escaped(s.equals)}$`) : s.pattern !== undefined ? new RegExp(s.pattern) : s.contains ?? "";
// A string is the whole path there.
const pattern = (s: Spec): RegExp => { const t = text(s); return typeof t === "string" ? new RegExp(escaped(t)) : t; };
const command = (s: Spec) => s.executable === undefined && s.positionals === undefined && s.options === undefined && s.strict === undefined && s.end_of_options === undefined
	? text(s)
	: { executable: s.executable, positionals: s.positionals, options: s.options, endOfOptions: s.end_of_options, strict: s.strict };
const call = (s: Spec): ToolCallMatcher => ({
	tool: s.tool !== undefined ? new RegExp(`^${escaped(s.tool)}$`) : text(s),
	where: s.args && ((args) => Object.entries(s.args!).every(([k, v]) => args !== null && typeof args === "object" && JSON.stringify(args[k]) === JSON.stringify(v))),
});
const result = (s: Spec): ToolResultMatcher => ({
	tool: s.tool === undefined ? undefined : new RegExp(`^${escaped(s.tool)}$`),
	output: s.contains === undefined && s.pattern === undefined && s.equals === undefined ? undefined : text(s),
});

function list(checks: any, report: SessionReport, s: Spec, of: (s: Spec) => unknown): void {
	if (s.before) return checks.before(report, of(s), of(s.before));
	if (s.only) return checks.only(report, [of(s)]);
	if (s.count !== undefined) return checks.count(report, of(s), s.count);
	if (s.at_least !== undefined) checks.atLeast(report, of(s), s.at_least);
	if (s.at_most !== undefined) return checks.atMost(report, of(s), s.at_most);
	if (s.at_least === undefined) checks[s.not ? "notIncludes" : "includes"](report, of(s));
}

function run(r: SessionReport, s: Spec): void {
	const skill = { minConfidence: s.min_confidence };
	switch (s.type) {
		case "ran_command":
			if (s.exit_code !== undefined) return assert.commands[s.exit_code === 0 ? "succeeded" : "failed"](r, command(s));
			return list(assert.commands, r, s, command);
		case "read_file": return list(assert.fileReads, r, s, text);
		case "called_tool": return list(assert.toolCalls, r, s, call);
		case "tool_returned": return list(assert.toolResults, r, s, result);
		case "used_skill":
			if (s.only) return assert.skills.only(r, [s.skill!], skill);
			if (s.count !== undefined) return assert.skills.count(r, s.skill!, s.count, skill);
			return assert.skills[s.not ? "notHas" : "has"](r, s.skill!, skill);
		case "changed_file":
			if (s.only) return assert.files.onlyChanged(r, [pattern(s)]);
			return assert.files[s.not ? "notChanged" : "changed"](r, pattern(s), { kind: s.change });
		case "was_denied": return assert.permissions.noneDenied(r);
		case "leaks_no_secret": return assert.leaksNoSecret(r, { in: s.in });
		case "contains": return assert.output[s.not ? "notIncludes" : "includes"](r, s.ideal!);
		case "file_exists": return assert.files[s.not ? "notExists" : "exists"](r, s.path!);
		case "file_contains": return assert.files[s.not ? "notContains" : "contains"](r, s.path!, text(s));
		case "max_total_tokens": return assert.usage.tokensAtMost(r, s.max!);
		case "max_input_tokens": return assert.usage.tokensAtMost(r, s.max!, { metric: "inputTokens" });
		case "max_cost_usd": return assert.usage.costAtMost(r, s.max!);
		case "max_steps": return assert.usage.stepsAtMost(r, s.max!);
		case "max_duration_ms": return assert.usage.durationAtMost(r, s.max!);
	}
	throw new Error(`${s.type}?`);
}

const suite: Suite = [{ id: "agree", prompt: "x", assert: (report) => run(report, (report as any).spec) }];
export default suite;
