// Parses commands, and matches their parts.

import type { CommandMatcherBuilderLike, CommandValueMatcher, ParsedCommand, StructuredCommandMatcher } from "plumb";
import { describeText, isText, matchesText, textTest, type Text } from "./text";

const shells = new Set(["bash", "sh", "zsh", "fish", "dash"]);

/** Parses a shell command, also one within `sh -c`. It does not know which options take values. */
export function parseCommand(command: string): ParsedCommand {
	const outer = words(command);
	const inner = shellArgument(outer);
	const parsed: ParsedCommand = {
		command, executable: null, positionals: [], options: {}, endOfOptions: false,
		normalizedFromShell: inner !== undefined,
	};
	// Users choose the names of options, so __proto__ must be possible.
	const options = new Map<string, (string | true)[]>();
	const [executable, ...tokens] = inner === undefined ? outer : words(inner);
	parsed.executable = executable ?? null;
	const add = (name: string, value: string | true) => {
		const values = options.get(name);
		if (values === undefined) options.set(name, [value]);
		else values.push(value);
	};
	for (let i = 0; i < tokens.length; i++) {
		const token = tokens[i];
		const next = tokens[i + 1];
		const letters = [...token];
		const valued = (name: string) => {
			if (next !== undefined && !next.startsWith("-")) add(name, tokens[++i]);
			else add(name, true);
		};
		if (parsed.endOfOptions || token === "-" || !token.startsWith("-")) {
			parsed.positionals.push(token);
		} else if (token === "--") {
			parsed.endOfOptions = true;
		} else if (token.startsWith("--")) {
			const equals = token.indexOf("=");
			if (equals >= 0) add(token.slice(0, equals), token.slice(equals + 1));
			else valued(token);
		} else if (letters.length === 2) {
			valued(token);
		} else if (/^-[A-Za-z]+$/.test(token)) {
			for (const letter of letters.slice(1)) add(`-${letter}`, true);
		} else {
			add(letters.slice(0, 2).join(""), letters.slice(2).join(""));
		}
	}
	for (const [name, values] of options) {
		Object.defineProperty(parsed.options, name, { value: values, enumerable: true, writable: true, configurable: true });
	}
	return parsed;
}

/** The words of a command line. Operators and variables have no meaning, and empty words are dropped. */
function words(text: string): string[] {
	const found: string[] = [];
	let word = "";
	let quote = "";
	for (let i = 0; i < text.length; i++) {
		const c = text[i];
		if (c === "\\" && quote !== "'" && i + 1 < text.length) {
			word += text[++i];
		} else if (quote !== "") {
			if (c === quote) quote = "";
			else word += c;
		} else if (c === "'" || c === '"') {
			quote = c;
		} else if (/\s/.test(c)) {
			if (word !== "") found.push(word);
			word = "";
		} else {
			word += c;
		}
	}
	if (word !== "") found.push(word);
	return found;
}

/** The command of a shell that the words call with -c. */
function shellArgument(tokens: string[]): string | undefined {
	for (let i = 0; i < Math.min(2, tokens.length); i++) {
		const name = tokens[i].split(/[/\\]/).pop()!;
		if (name === "env" || !shells.has(name)) continue;
		for (let j = i + 1; j < tokens.length - 1; j++) {
			if (tokens[j].startsWith("-") && tokens[j].includes("c")) return tokens[j + 1];
		}
		return undefined;
	}
	return undefined;
}

const isValue = (v: unknown): v is CommandValueMatcher => v === true || isText(v);

/** Builds a matcher step by step. */
export class CommandMatcherBuilder implements CommandMatcherBuilderLike {
	#executable: Text | undefined;
	#positionals: Text[] = [];
	#options: Map<string, CommandValueMatcher[]> | undefined;
	#endOfOptions: true | undefined;
	#strict = false;

	constructor(executable?: Text) {
		this.#executable = executable;
	}

	executable(matcher: Text): this {
		this.#executable = matcher;
		return this;
	}

	arg(matcher: Text): this {
		return this.args(matcher);
	}

	args(...matchers: Text[]): this {
		this.#positionals.push(...matchers);
		return this;
	}

	option(name: string, value: CommandValueMatcher = true): this {
		this.#options ??= new Map();
		this.#options.set(name, [...(this.#options.get(name) ?? []), value]);
		return this;
	}

	flag(name: string): this {
		return this.option(name, true);
	}

	endOfOptions(): this {
		this.#endOfOptions = true;
		return this;
	}

	exact(): this {
		return this.strict();
	}

	strict(): this {
		this.#strict = true;
		return this;
	}

	build(): StructuredCommandMatcher {
		return {
			executable: this.#executable, positionals: [...this.#positionals],
			options: this.#options && Object.fromEntries([...this.#options].map(([name, values]) => [name, values.length === 1 ? values[0] : values])),
			endOfOptions: this.#endOfOptions, strict: this.#strict,
		};
	}

	[Symbol.for("nodejs.util.inspect.custom")](): string {
		return describeStructured(this.build());
	}
}

export function commandMatcher(executable?: Text): CommandMatcherBuilder {
	return new CommandMatcherBuilder(executable);
}

/** The plain form of a structured matcher; throws a TypeError for other values. */
export function structured(matcher: StructuredCommandMatcher | CommandMatcherBuilderLike): StructuredCommandMatcher {
	const m: StructuredCommandMatcher =
		typeof (matcher as CommandMatcherBuilderLike).build === "function" ? (matcher as CommandMatcherBuilderLike).build() : (matcher as StructuredCommandMatcher);
	const bad = (what: string): never => {
		throw new TypeError(`a command matcher's ${what}`);
	};
	for (const key of Object.keys(m)) {
		if (!["executable", "positionals", "options", "endOfOptions", "exact", "strict"].includes(key)) bad(`key "${key}" is not known`);
	}
	if (m.executable !== undefined && !isText(m.executable)) bad("executable must be a string or a RegExp");
	if (m.positionals !== undefined && !(Array.isArray(m.positionals) && m.positionals.every(isText))) {
		bad("positionals must be an array of strings and RegExps");
	}
	for (const [name, value] of Object.entries(m.options ?? {})) {
		if (!(Array.isArray(value) ? value.every(isValue) : isValue(value))) {
			bad(`option "${name}" must be a string, a RegExp, true, or an array of those`);
		}
	}
	return m;
}

const isStrict = (m: StructuredCommandMatcher) => m.strict === true || m.exact === true;
const listed = (v: CommandValueMatcher | readonly CommandValueMatcher[]): readonly CommandValueMatcher[] =>
	isValue(v) ? [v] : v;

type TokenTest = (token: string) => boolean;

function tokenTest(matcher: Text): TokenTest {
	return typeof matcher === "string" ? (token) => token === matcher : textTest(matcher);
}

function matchesValue(matcher: CommandValueMatcher, value: string | true): boolean {
	if (matcher === true || value === true) return matcher === value;
	return typeof matcher === "string" ? matcher === value : matchesText(matcher, value);
}

/** Makes a matcher's test of commands, once for many commands. */
export function structuredTest(m: StructuredCommandMatcher): (command: ParsedCommand) => boolean {
	const strictly = isStrict(m);
	const executable = m.executable === undefined ? undefined : tokenTest(m.executable);
	const positionals = (m.positionals ?? []).map(tokenTest);
	const options = Object.entries(m.options ?? {}).map(([name, values]) => [name, listed(values)] as const);
	return (command) => {
		if (executable !== undefined && (command.executable === null || !executable(command.executable))) return false;
		if (m.endOfOptions !== undefined && m.endOfOptions !== command.endOfOptions) return false;
		if (!(strictly ? exactly : inOrder)(positionals, command.positionals)) return false;
		if (strictly && options.length !== Object.keys(command.options).length) return false;
		for (const [name, values] of options) {
			if (!Object.hasOwn(command.options, name)) return false;
			const found = command.options[name];
			if (strictly ? values.length !== found.length : values.length > found.length) return false;
			if (!assigned(values, [...found])) return false;
		}
		return true;
	};
}

const exactly = (tests: TokenTest[], tokens: string[]): boolean =>
	tests.length === tokens.length && tests.every((test, i) => test(tokens[i]));

function inOrder(tests: TokenTest[], tokens: string[]): boolean {
	let at = 0;
	for (const test of tests) {
		while (at < tokens.length && !test(tokens[at])) at++;
		if (at++ >= tokens.length) return false;
	}
	return true;
}

/** Whether each matcher gets a different value: the first that matches, in the order of the matchers. */
function assigned(matchers: readonly CommandValueMatcher[], values: (string | true)[]): boolean {
	return matchers.every((matcher) => {
		const at = values.findIndex((value) => matchesValue(matcher, value));
		if (at >= 0) values.splice(at, 1);
		return at >= 0;
	});
}

export function describeStructured(m: StructuredCommandMatcher): string {
	const parts: string[] = [];
	if (m.executable !== undefined) parts.push(`executable=${describeText(m.executable)}`);
	if (m.positionals !== undefined && m.positionals.length > 0) parts.push(`positionals=[${m.positionals.map(describeText).join(", ")}]`);
	const options = Object.entries(m.options ?? {});
	if (options.length > 0) {
		const shown = options.map(([name, values]) =>
			`${name}: [${listed(values).map((v) => (v === true ? "<flag>" : describeText(v))).join(", ")}]`);
		parts.push(`options={${shown.join(", ")}}`);
	}
	if (m.endOfOptions !== undefined) parts.push(`endOfOptions=${m.endOfOptions}`);
	if (isStrict(m)) parts.push("strict=true");
	return `command matcher (${parts.length === 0 ? "<any>" : parts.join(", ")})`;
}

/** A command as failures show it: its text and its exit code. */
export function describeCommand(p: ParsedCommand): string {
	if (p.executable === null && !p.normalizedFromShell) return p.command;
	const parts: string[] = [];
	if (p.executable !== null) parts.push(`executable=${JSON.stringify(p.executable)}`);
	if (p.positionals.length > 0) parts.push(`positionals=${JSON.stringify(p.positionals)}`);
	if (Object.keys(p.options).length > 0) parts.push(`options=${JSON.stringify(p.options)}`);
	if (p.endOfOptions) parts.push("endOfOptions=true");
	const how = p.normalizedFromShell ? "normalized from shell wrapper" : "parsed";
	return `${p.command} ${how} (${parts.length === 0 ? "empty" : parts.join(", ")})`;
}
