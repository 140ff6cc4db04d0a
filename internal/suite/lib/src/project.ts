// Configs and reporters, which Go implements.

import type { BenchmarkReporter, ReporterOptions, SkillgymConfig } from "plumb";
import { host, hostAsync } from "./engine";

declare const require: (name: string) => any;
declare const __plumb: undefined | { import(specifier: string, file: string): Promise<any> };

export const BUILT_IN_REPORTER_NAMES = ["standard", "json", "json-summary", "github-actions", "html"] as const;

export const reporterHooks = [
	"onSuiteStart", "onCaseStart", "onRunnerStart", "onRunnerFinish", "onCaseFinish", "onSuiteFinish", "onError",
] as const;

type Hook = (typeof reporterHooks)[number];

/** Checks a config and returns it; the message of the Error has all problems. */
export function parseConfig(raw: unknown): SkillgymConfig {
	return JSON.parse(host("parseConfig", JSON.stringify(raw === undefined ? null : raw)));
}

/** Finds, executes and checks the config for a suite. */
export async function loadConfig(options: { suitePath: string; configPath?: string }): Promise<{ filePath?: string; config: SkillgymConfig }> {
	return JSON.parse(await hostAsync("loadConfig", JSON.stringify(options)));
}

/** The hooks of a reporter that renders a run. */
const hooksOf: Record<string, readonly Hook[]> = {
	standard: reporterHooks, "json-summary": ["onSuiteFinish"], "github-actions": ["onSuiteFinish"], html: ["onCaseFinish", "onSuiteFinish"],
};

/** A reporter that renders the reported run. Go creates it when the first hook is called. */
function builtIn(name: string, options: ReporterOptions = {}): BenchmarkReporter {
	const { stdout, ...rest } = options;
	let handle: string | undefined;
	const opened = () => {
		try {
			return (handle ??= host("createReporter", name, JSON.stringify({ ...rest, capture: stdout !== undefined })));
		} catch (cause) {
			throw new Error(`the reporter "${name}" renders a run, and here is none: choose it with --reporter ${name}`, { cause });
		}
	};
	const reporter: Record<string, (event: any) => Promise<void>> = {};
	for (const hook of hooksOf[name]) {
		reporter[hook] = async (event) => {
			const text = await hostAsync("reportTo", opened(), hook, JSON.stringify(plainEvent(hook, event)));
			if (stdout !== undefined && text !== "") stdout.write(text);
		};
	}
	return reporter as BenchmarkReporter;
}

/** Prints a given result, which can differ from Plumb's own. */
function json({ stdout }: ReporterOptions = {}): BenchmarkReporter {
	return {
		onSuiteFinish({ result }) {
			const text = `${JSON.stringify(result, null, 2)}\n`;
			if (stdout === undefined) (globalThis as any).process.stdout.write(text);
			else stdout.write(text);
		},
	};
}

function plainEvent(hook: Hook, event: any): unknown {
	if (hook !== "onError") return event;
	const { error } = event;
	return { ...event, error: error instanceof Error ? { name: error.name, message: error.message, stack: error.stack } : { message: String(error) } };
}

export const createStandardReporter = (options?: ReporterOptions): BenchmarkReporter => builtIn("standard", options);
export const createJsonReporter = (options?: ReporterOptions): BenchmarkReporter => json(options);
export const createJsonSummaryReporter = (options?: ReporterOptions): BenchmarkReporter => builtIn("json-summary", options);
export const createGitHubActionsReporter = (options?: ReporterOptions): BenchmarkReporter => builtIn("github-actions", options);
export const createHtmlReporter = (): BenchmarkReporter => builtIn("html");

/** A built-in reporter by its name, or the reporter of a module. */
export async function loadReporter(specifier: string | undefined, cwd: string): Promise<BenchmarkReporter> {
	const name = specifier ?? "standard";
	if (name === "json") return json();
	if ((BUILT_IN_REPORTER_NAMES as readonly string[]).includes(name)) return builtIn(name);
	const path = require("node:path");
	const file: string = path.resolve(cwd, name);
	let module: any;
	try {
		if (typeof __plumb !== "object") throw new Error("modules cannot be imported here");
		module = await __plumb.import(file, path.join(cwd, "reporter.js"));
	} catch (e) {
		throw new Error(`Failed to load reporter module: ${file}\n${e instanceof Error ? e.message : String(e)}`);
	}
	const found = reporterOf(module);
	if (typeof found === "string") throw new Error(`${found}: ${file}`);
	return found;
}

/** The reporter that a module exports, or the start of a message that ends with the path. */
export function reporterOf(module: any): BenchmarkReporter | string {
	const candidate = module?.default ?? module?.reporter;
	if (candidate === undefined) return "Reporter module must export a default reporter or named reporter object";
	if (typeof candidate !== "object" || candidate === null) return "Reporter module must export an object";
	if (!reporterHooks.some((hook) => typeof candidate[hook] === "function")) {
		return `Reporter module must define at least one reporter hook (${reporterHooks.join(", ")})`;
	}
	return candidate;
}
