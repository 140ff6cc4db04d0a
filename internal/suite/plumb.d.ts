// Types of the modules "plumb" and "skillgym" (the same under two names), "plumb/testing" and "skillgym/testing", for suites, configs
// and reporters in TypeScript. `plumb init --types` writes this file; have your tsconfig.json include it.

// Modules of Node have any type here, unless @types/node is installed.
declare module "node:*";

interface ImportMeta {
	/** The directory and the absolute path of the module. */
	dirname: string;
	filename: string;
	url: string;
}

declare module "plumb" {
	// ---------------------------------------------------------------------------------------------------- session report

	/** The normalised record of one session: what an agent or a model did with one prompt. */
	export interface SessionReport {
		runner: RunnerInfo;
		/** The name that the provider or the agent gave the session. */
		sessionId?: string;
		/** What was asked, as one text. */
		prompt: string;
		usage: SessionUsage;
		files: SessionFiles;
		detectedSkills: SkillDetection[];
		/** What was observed, in order. */
		events: SessionEvent[];
		/** The answer: the last final message of the main thread. */
		finalOutput: string;
		/** ISO 8601 times. */
		startedAt?: string;
		endedAt?: string;
		/** How long the whole session took, in milliseconds. */
		durationMs?: number;
		rawArtifacts: RawArtifacts;

		/** The model as the provider reported it. */
		model?: string;
		fingerprint?: string;
		/** Why the model stopped: "stop", "truncated", "refused", "tool-calls", "timeout" or "other". */
		finishReason?: string;
		/** In US dollars; absent where no price is known. */
		costUsd?: number;
		/** How many requests or attempts the session took. */
		requests?: number;
		/** The version of the agent CLI. */
		agentVersion?: string;
		/** How the agent's process ended. */
		exitCode?: number;
		/** How many steps the agent took, as it counts them. */
		steps?: number;
		/** What the agent found when it began: skills, MCP servers, memory, instructions. */
		offered?: Offer[];
		/** What the agent was not allowed to do. */
		permissionDenials?: PermissionDenial[];
		/** The agents that the session started for parts of its work. */
		subagents?: Subagent[];
		/** What a reader of the report should know. */
		notes?: string[];
		/** Files that the agent asked for; nothing shows whether it got their content. No check concludes from them. */
		unprovenReads?: string[];
		/** The types of events of which the report does not have all, and "finalOutput" where that was cut off. */
		incomplete?: string[];
		/** The names of the secrets that were removed before the report was stored. Checks in code see whole reports only. */
		redacted?: string[];
	}

	/** What a session used. Absent figures were not reported. */
	export interface SessionUsage {
		/** Gross: what was read from and written to a cache is included. */
		inputTokens?: number;
		/** Gross: reasoning is included. */
		outputTokens?: number;
		reasoningTokens?: number;
		/** Read from a prompt cache. */
		cacheTokens?: number;
		/** Written to a prompt cache. */
		cacheWriteTokens?: number;
		/** What was not served from a cache: input + output - cache. */
		totalTokens?: number;
		inputChars: number;
		outputChars: number;
		reasoningChars: number;
		source: Record<"input" | "output" | "reasoning", "provider" | "derived" | "chars">;
	}

	/** The files that a session touched, as absolute paths. */
	export interface SessionFiles {
		observedReads: string[];
		observedSkillReads: string[];
		/** What is different in the workspace after the session. */
		changed?: FileChange[];
	}

	export interface FileChange {
		path: string;
		kind: "add" | "update" | "delete";
		/** A unified diff, shortened; absent for files that are not text. */
		diff?: string;
	}

	export type SkillConfidence = "weak" | "medium" | "strong" | "explicit";

	/** Says that a session used a skill, and how sure that is. */
	export interface SkillDetection {
		skill: string;
		confidence: SkillConfidence;
		evidence: string[];
	}

	interface EventBase {
		/** ISO 8601 time. */
		at?: string;
		/** The ID of the subagent that did it; absent for the main thread. */
		subagent?: string;
		/** Joins a tool call, its result, and what else was derived from it. */
		callId?: string;
		/** A text of the event was cut off. */
		truncated?: boolean;
	}

	/** One thing that was observed in a session. */
	export type SessionEvent =
		| (EventBase & { type: "message"; role: "user" | "assistant"; phase?: "thinking" | "commentary" | "final"; text: string })
		| (EventBase & { type: "toolCall"; tool: string; args?: any })
		| (EventBase & { type: "toolResult"; tool?: string; output: string; isError?: boolean })
		| (EventBase & { type: "command"; command: string; exitCode?: number })
		| (EventBase & { type: "fileRead"; path: string })
		| (EventBase & { type: "skillSignal"; skill: string; signal: string })
		| (EventBase & { type: "fileChange"; path: string; change: "add" | "update" | "delete" })
		| (EventBase & { type: "permissionDenied"; tool: string; output?: string });

	/** Something that an agent had at hand, whether it used it or not. */
	export interface Offer {
		kind: "skill" | "mcp-server" | "memory" | "instructions" | "plugin";
		name: string;
		path?: string;
		source?: string;
		/** Neither the suite nor the runner brought it: it leaked in from the machine. */
		undeclared?: boolean;
	}

	export interface PermissionDenial {
		tool: string;
		callId?: string;
		message?: string;
		at?: string;
	}

	export interface Subagent {
		id: string;
		type?: string;
		usage?: SessionUsage;
	}

	/** The files that a session report was made from. */
	export interface RawArtifacts {
		stdoutPath?: string;
		stderrPath?: string;
		sessionPath?: string;
		exportPath?: string;
		telemetryPath?: string;
	}

	// ------------------------------------------------------------------------------------------------------------ suites

	/** One prompt and its checks. */
	export interface Case {
		/** Names the case in results, filters and artifact paths. Letters, digits, ".", "_" and "-" are safe. */
		id: string;
		/** What the agent or model is asked. */
		prompt: string;
		/** The system prompt. */
		system?: string;
		/** A conversation that comes before the prompt. */
		messages?: { role: "system" | "developer" | "user" | "assistant"; content: string }[];
		/** Labels for --tag: a case runs when it has any of the selected ones. */
		tags?: string[];
		/** Limits one session, in milliseconds. */
		timeoutMs?: number;
		/** Marks a known gap: a failed assertion leaves the suite green, a pass does not. */
		expectedFail?: boolean;
		/** How many samples to take. */
		repeat?: number;
		/** Caps the answer of a model, in tokens. */
		maxOutputTokens?: number;
		/** Stops an agent that takes more steps. */
		maxSteps?: number;
		category?: string;
		difficulty?: string;
		/** Checks as in JSONL suites, such as {type: "contains", ideal: "done"}. */
		assertions?: readonly DeclarativeAssertion[];
		/** Names the class of a failure, after the result exists. Undefined leaves it as it is. */
		classifyFailure?(result: RunnerResult): FailureClass | string | undefined | Promise<FailureClass | string | undefined>;
		/** Passes when it completes, and fails when it throws an AssertionError. */
		assert(report: SessionReport, ctx: AssertionContext): void | Promise<void>;
	}

	export type TestCase = Case;

	// BEGIN assertions: generated by go generate ./...
	/** Keys of all declarative checks. */
	export interface AssertionKeys {
		/** The name of the check in reports. */
		name?: string;
		/** The check passes when it would fail, and fails when it would pass; its score is 1 minus the score. */
		not?: boolean;
		/** The weight of the score within the case or all_of; it decides only together with min_score. */
		weight?: number;
	}

	/** Keys of the declarative checks that compare texts. */
	export interface AssertionTextKeys {
		/** `false` compares the texts in lower case. */
		case_sensitive?: boolean;
		/** What to normalize in both texts before they are compared. */
		normalize?: ("typography" | "whitespace" | "unicode") | readonly ("typography" | "whitespace" | "unicode")[];
	}

	/** Passes if the output equals the ideal; white space around both is ignored. */
	export interface ExactMatchAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "exact_match";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** Accepted for compatibility, without effect. */
		threshold?: unknown;
		/** Accepted for compatibility, without effect. */
		judge_prompt?: unknown;
		/** `false` compares the white space around the output, too. */
		trim?: boolean;
	}

	/** Passes if the output equals one of the ideals; white space around both is ignored. */
	export interface EqualsAnyAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "equals_any";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** `false` compares the white space around the output, too. */
		trim?: boolean;
	}

	/** Passes if the output contains the ideal. */
	export interface ContainsAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "contains";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** Accepted for compatibility, without effect. */
		threshold?: unknown;
		/** Accepted for compatibility, without effect. */
		judge_prompt?: unknown;
	}

	/** Passes if the output contains at least one of the ideals. */
	export interface ContainsAnyAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "contains_any";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** Accepted for compatibility, without effect. */
		threshold?: unknown;
		/** Accepted for compatibility, without effect. */
		judge_prompt?: unknown;
	}

	/** Passes if the output contains each of the ideals. */
	export interface ContainsAllAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "contains_all";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
	}

	/** Passes if the output starts with one of the ideals; white space before it is ignored. */
	export interface StartsWithAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "starts_with";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** `false` compares the white space around the output, too. */
		trim?: boolean;
	}

	/** Passes if the output ends with one of the ideals; white space after it is ignored. */
	export interface EndsWithAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "ends_with";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** `false` compares the white space around the output, too. */
		trim?: boolean;
	}

	/** Passes if the pattern matches somewhere in the output. */
	export interface RegexAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "regex";
		/** A regular expression in RE2 syntax, not anchored. */
		pattern: string;
	}

	/** Passes if the output is empty, or has one of the phrases of a refusal. */
	export interface RefusalAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "refusal";
	}

	/** Passes if the output has as many words as expected. */
	export interface WordCountAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "word_count";
		/** The least number of words. */
		min?: number;
		/** The largest number of words. */
		max?: number;
	}

	/** Passes if the output is JSON, bare or in one fenced block. */
	export interface IsJsonAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "is_json";
		/** Accepted for compatibility, without effect. */
		case_sensitive?: boolean;
		/** Accepted for compatibility, without effect. */
		threshold?: unknown;
		/** Accepted for compatibility, without effect. */
		judge_prompt?: unknown;
		/** `true` accepts only an output that is JSON as a whole, without a fence. */
		bare?: boolean;
	}

	/** Passes if the JSON in the output is valid against the schema. */
	export interface JsonSchemaAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "json_schema";
		/** A JSON Schema of draft 2020-12, or of the draft that `$schema` names. */
		schema: object | boolean;
		/** `true` accepts only an output that is JSON as a whole, without a fence. */
		bare?: boolean;
	}

	/** Passes if a value at the path is as expected. */
	export interface JsonPathAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "json_path";
		/** A JSONPath; `$` is the whole value. */
		path: string;
		/** The value equals this JSON value. */
		equals?: unknown;
		/** The value is a string that contains this text, or a list with this text as an element. */
		contains?: string;
		/** There is a value, also `null` (`true`), or there is none (`false`). */
		exists?: boolean;
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
	}

	/** Passes if the JSON in the output equals a JSON value. */
	export interface EqualsJsonAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "equals_json";
		/** The expected JSON value. */
		equals?: unknown;
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** `true` accepts only an output that is JSON as a whole, without a fence. */
		bare?: boolean;
	}

	/** Passes if the output is one XML element, well-formed. */
	export interface IsXmlAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "is_xml";
		/** Elements that it must have, as paths from the root such as `order.item`. */
		elements?: readonly string[];
	}

	/** Passes if the last number in the output is close enough. */
	export interface NumericAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "numeric";
		/** The expected number. */
		value?: number;
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The largest accepted difference from the expected number. */
		tolerance?: number;
		/** The same in percent of the expected number; the wider tolerance applies. */
		tolerance_percent?: number;
	}

	/** Passes if the edit distance of the output and of an ideal is small enough. */
	export interface LevenshteinAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "levenshtein";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The largest accepted number of characters to insert, delete or replace. */
		max?: number;
		/** Instead of `max`: the least similarity, which is 1 minus the distance divided by the length of the longer text. */
		threshold?: number;
	}

	/** Passes if the ROUGE-N of the output and of an ideal is high enough. */
	export interface RougeAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "rouge";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The number of words of the sequences that are compared. */
		n?: number;
		/** The harmonic mean of recall and precision, or one of the two. */
		measure?: "f" | "recall" | "precision";
		/** The least score. */
		threshold?: number;
	}

	/** Passes if the BLEU-4 of the output and of an ideal is high enough. */
	export interface BleuAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "bleu";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The least score. */
		threshold?: number;
	}

	/** Passes if the GLEU of the output and of an ideal is high enough. */
	export interface GleuAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "gleu";
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The least score. */
		threshold?: number;
	}

	/** Passes if a judge model answers the question with YES. */
	export interface LlmJudgeAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "llm_judge";
		/** Accepted for compatibility, without effect. */
		case_sensitive?: boolean;
		/** Accepted for compatibility, without effect. */
		threshold?: unknown;
		/** A question about the output that YES or NO answers. */
		judge_prompt: string;
		/** The number of answers of the judge, an odd number; the majority decides. */
		votes?: number;
	}

	/** Passes if the embeddings of the output and of an ideal are similar. */
	export interface SemanticSimilarityAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "semantic_similarity";
		/** Accepted for compatibility, without effect. */
		case_sensitive?: boolean;
		/** Accepted for compatibility, without effect. */
		judge_prompt?: unknown;
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
		/** The least cosine of the two embeddings. */
		threshold?: number;
	}

	/** Passes if a JavaScript expression or function accepts the session. */
	export interface JsAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "js";
		/** An expression, or the body of a function with `return`. */
		expr?: string;
		/** Instead of `expr`: a .js or .ts file that exports a function; the path starts at the suite's directory. */
		file?: string;
		/** The least number that passes, if the result is a number; without it, a number above 0 passes. */
		threshold?: number;
		/** The time limit of one call in milliseconds; a call that takes longer is an error. */
		timeout_ms?: number;
	}

	/** Passes if a program accepts the session. */
	export interface CommandAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "command";
		/** The program and its arguments; it runs in the suite's directory, without a shell. */
		run: readonly string[];
		/** The least number that passes, if the result is a number; without it, a number above 0 passes. */
		threshold?: number;
		/** The time limit of one call in milliseconds; a call that takes longer is an error. */
		timeout_ms?: number;
	}

	/** Passes if all of the checks pass. */
	export interface AllOfAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "all_of";
		/** The checks to combine. */
		assertions: readonly DeclarativeAssertion[];
		/** Instead of all passing: the least weighted mean of their scores. */
		min_score?: number;
	}

	/** Passes if at least one of the checks passes. */
	export interface AnyOfAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "any_of";
		/** The checks to combine. */
		assertions: readonly DeclarativeAssertion[];
	}

	/** Passes if the agent ran a command that matches. */
	export interface RanCommandAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "ran_command";
		/** The program of the command. */
		executable?: string;
		/** Arguments in this order, with others between them. */
		positionals?: readonly string[];
		/** Options by name, with dashes: a value, a list of values, or `true` for none. */
		options?: Readonly<Record<string, unknown>>;
		/** Whether the command has a `--`. */
		end_of_options?: boolean;
		/** The command has nothing else. */
		strict?: boolean;
		/** The exit code of the command, if the agent reports it. */
		exit_code?: number;
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<RanCommandAssertion, "type">;
	}

	/** Passes if the agent read a file that matches. */
	export interface ReadFileAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "read_file";
		/** The last elements of the path, or a glob relative to the workspace. */
		path?: string;
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<ReadFileAssertion, "type">;
	}

	/** Passes if the agent used a skill that matches. */
	export interface UsedSkillAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "used_skill";
		/** The exact name of the skill. */
		skill?: string;
		/** How sure Plumb must be that the skill was used. */
		min_confidence?: "weak" | "medium" | "strong" | "explicit";
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<UsedSkillAssertion, "type">;
	}

	/** Passes if the agent called a tool and the call matches. */
	export interface CalledToolAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "called_tool";
		/** The exact name of the tool. */
		tool?: string;
		/** Members that the arguments of the call have, among others. */
		args?: Readonly<Record<string, unknown>>;
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<CalledToolAssertion, "type">;
	}

	/** Passes if a tool returned an output that matches. */
	export interface ToolReturnedAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "tool_returned";
		/** The exact name of the tool. */
		tool?: string;
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<ToolReturnedAssertion, "type">;
	}

	/** Passes if a file that matches is different after the session. */
	export interface ChangedFileAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "changed_file";
		/** The last elements of the path, or a glob relative to the workspace. */
		path?: string;
		/** What happened to the file. */
		change?: "add" | "update" | "delete";
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<ChangedFileAssertion, "type">;
	}

	/** Passes if the agent was denied a permission; mostly used with `not`. */
	export interface WasDeniedAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "was_denied";
		/** The exact name of the tool. */
		tool?: string;
		/** The text equals this. */
		equals?: string;
		/** The text contains this. */
		contains?: string;
		/** This regular expression (RE2) matches somewhere in the text. */
		pattern?: string;
		/** The exact number of matches. */
		count?: number;
		/** The smallest number of matches. */
		at_least?: number;
		/** The largest number of matches. */
		at_most?: number;
		/** Everything of the kind matches; without a count, nothing at all passes too. */
		only?: boolean;
		/** The first match comes before the first match of this check, whose `type` is the same by default. */
		before?: ObservedAssertion | Omit<WasDeniedAssertion, "type">;
	}

	/** Passes if the workspace has the file or directory after the session. */
	export interface FileExistsAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "file_exists";
		/** A path or a glob, relative to the workspace. */
		path: string;
	}

	/** Passes if a file of the workspace has the expected content. */
	export interface FileContainsAssertion extends AssertionKeys, AssertionTextKeys {
		/** The type of the check, in lower case. */
		type: "file_contains";
		/** A path or a glob, relative to the workspace. */
		path: string;
		/** The file contains this text. */
		contains?: string;
		/** This regular expression matches somewhere in the file. */
		pattern?: string;
		/** The expected text, or a list of texts. */
		ideal?: string | readonly string[] | null;
	}

	/** Passes if the session shows no secret that the run knows. */
	export interface LeaksNoSecretAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "leaks_no_secret";
		/** Where to look for secrets. */
		in?: readonly ("output" | "commands" | "files")[];
	}

	/** Passes if the answer ended for one of the reasons. */
	export interface FinishReasonAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "finish_reason";
		/** The accepted reasons. */
		reasons: ("stop" | "truncated" | "refused" | "tool-calls" | "timeout" | "other") | readonly ("stop" | "truncated" | "refused" | "tool-calls" | "timeout" | "other")[];
	}

	/** Passes if the answer took at most `max` output tokens, including reasoning. */
	export interface MaxTokensAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_tokens";
		/** The limit in output tokens; `value` is another name for it. */
		max?: number;
		/** The limit in output tokens; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the answered request took at most `max` milliseconds. */
	export interface MaxLatencyMsAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_latency_ms";
		/** The limit in ms; `value` is another name for it. */
		max?: number;
		/** The limit in ms; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the agent took at most `max` steps, as it counts them. */
	export interface MaxStepsAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_steps";
		/** The limit in steps; `value` is another name for it. */
		max?: number;
		/** The limit in steps; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the session took at most `max` input tokens, including cached ones. */
	export interface MaxInputTokensAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_input_tokens";
		/** The limit in input tokens; `value` is another name for it. */
		max?: number;
		/** The limit in input tokens; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the session took at most `max` tokens, without cached ones. */
	export interface MaxTotalTokensAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_total_tokens";
		/** The limit in tokens; `value` is another name for it. */
		max?: number;
		/** The limit in tokens; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the session cost at most `max` US dollars. */
	export interface MaxCostUsdAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_cost_usd";
		/** The limit in US dollars; `value` is another name for it. */
		max?: number;
		/** The limit in US dollars; `value` is another name for it. */
		value?: number;
	}

	/** Passes if the session took at most `max` milliseconds. */
	export interface MaxDurationMsAssertion extends AssertionKeys {
		/** The type of the check, in lower case. */
		type: "max_duration_ms";
		/** The limit in ms; `value` is another name for it. */
		max?: number;
		/** The limit in ms; `value` is another name for it. */
		value?: number;
	}

	/** A check of what an agent did. */
	export type ObservedAssertion =
		| RanCommandAssertion
		| ReadFileAssertion
		| UsedSkillAssertion
		| CalledToolAssertion
		| ToolReturnedAssertion
		| ChangedFileAssertion
		| WasDeniedAssertion;

	/** A check as in JSONL suites. */
	export type DeclarativeAssertion =
		| ExactMatchAssertion
		| EqualsAnyAssertion
		| ContainsAssertion
		| ContainsAnyAssertion
		| ContainsAllAssertion
		| StartsWithAssertion
		| EndsWithAssertion
		| RegexAssertion
		| RefusalAssertion
		| WordCountAssertion
		| IsJsonAssertion
		| JsonSchemaAssertion
		| JsonPathAssertion
		| EqualsJsonAssertion
		| IsXmlAssertion
		| NumericAssertion
		| LevenshteinAssertion
		| RougeAssertion
		| BleuAssertion
		| GleuAssertion
		| LlmJudgeAssertion
		| SemanticSimilarityAssertion
		| JsAssertion
		| CommandAssertion
		| AllOfAssertion
		| AnyOfAssertion
		| RanCommandAssertion
		| ReadFileAssertion
		| UsedSkillAssertion
		| CalledToolAssertion
		| ToolReturnedAssertion
		| ChangedFileAssertion
		| WasDeniedAssertion
		| FileExistsAssertion
		| FileContainsAssertion
		| LeaksNoSecretAssertion
		| FinishReasonAssertion
		| MaxTokensAssertion
		| MaxLatencyMsAssertion
		| MaxStepsAssertion
		| MaxInputTokensAssertion
		| MaxTotalTokensAssertion
		| MaxCostUsdAssertion
		| MaxDurationMsAssertion;
	// END assertions

	/** A case without code. */
	export interface DeclarativeCase extends Omit<Case, "assert"> {
		assertions: readonly DeclarativeAssertion[];
		assert?: Case["assert"];
	}

	/** What a suite file exports by default. */
	export type Suite = (Case | DeclarativeCase)[] | Record<string, Case | DeclarativeCase>;
	export type TestSuite = Suite;

	/** Conveniences over the session report. */
	export interface AssertionContext {
		getCommands(): string[];
		/** With a tool, the calls of exactly that one. */
		getToolCalls(tool?: string): Extract<SessionEvent, { type: "toolCall" }>[];
		/** report.files.observedReads. */
		getFileReads(): string[];
		detectedSkills(): SkillDetection[];
		finalOutput(): string;
	}

	/** Where sessions work: the suite's export `workspace`. Paths are resolved against the suite file. */
	export type SuiteWorkspaceConfig =
		| { mode: "none"; cwd?: string }
		| { mode: "shared"; cwd?: string; templateDir?: string; bootstrap?: WorkspaceBootstrapConfig }
		| { mode: "isolated"; templateDir?: string; bootstrap?: WorkspaceBootstrapConfig };

	/** A program that prepares a workspace. It runs there, without a shell. */
	export interface WorkspaceBootstrapConfig {
		command: string;
		args?: string[];
		timeoutMs?: number;
		env?: Record<string, string>;
	}

	/** Groups failures of one cause. */
	export interface FailureClass {
		id: string;
		label?: string;
	}

	// --------------------------------------------------------------------------------------------------------- assertions

	/** A string is looked for within the text, a RegExp anywhere in it. */
	export type Matcher = string | RegExp;
	/** The value of an option; true is an option without one. */
	export type CommandValueMatcher = string | RegExp | true;
	/** A command: its whole text, or what it is made of. */
	export type CommandMatcher = Matcher | StructuredCommandMatcher | CommandMatcherBuilderLike;

	/** What a command is made of. Strings here are whole tokens; what is absent may be anything. */
	export interface StructuredCommandMatcher {
		executable?: string | RegExp;
		/** In this order, with others between them; with strict, nothing else. */
		positionals?: readonly (string | RegExp)[];
		/** By name with dashes; with strict, no others. */
		options?: Readonly<Record<string, CommandValueMatcher | readonly CommandValueMatcher[]>>;
		endOfOptions?: boolean;
		/** The same as strict. */
		exact?: boolean;
		strict?: boolean;
	}

	export interface CommandMatcherBuilderLike {
		build(): StructuredCommandMatcher;
	}

	/** Builds a structured matcher step by step. */
	export class CommandMatcherBuilder implements CommandMatcherBuilderLike {
		constructor(executable?: string | RegExp);
		executable(matcher: string | RegExp): this;
		/** Adds a positional argument. */
		arg(matcher: string | RegExp): this;
		args(...matchers: (string | RegExp)[]): this;
		/** Adds an option; without a value it is a bare flag. */
		option(name: string, value?: CommandValueMatcher): this;
		flag(name: string): this;
		/** The command has a "--". */
		endOfOptions(): this;
		/** Nothing but what was named may stand in the command. */
		exact(): this;
		strict(): this;
		build(): StructuredCommandMatcher;
	}

	export function commandMatcher(executable?: string | RegExp): CommandMatcherBuilder;

	/** A command taken apart. */
	export interface ParsedCommand {
		command: string;
		executable: string | null;
		positionals: string[];
		options: Record<string, (string | true)[]>;
		endOfOptions: boolean;
		/** It was the argument of a shell's -c. */
		normalizedFromShell: boolean;
	}

	/** A tool call; with both, both must match. */
	export interface ToolCallMatcher {
		/** Part of the tool's name. */
		tool?: string | RegExp;
		where?(args: any, event: Extract<SessionEvent, { type: "toolCall" }>): boolean;
	}

	/** A tool's result: its output, or more of it. */
	export type ToolResultMatcher = Matcher | { tool?: string | RegExp; output?: string | RegExp; isError?: boolean };

	export interface AssertionOptions {
		/** Stands before the text of the failure. */
		message?: string;
		explain?: ExplainOptions;
	}

	/** What `plumb explain` asks the agent when the check fails. */
	export interface ExplainOptions {
		/** Undefined asks the usual question, an empty one none. */
		question: string | ((ctx: ExplainContext) => string | undefined);
	}

	export interface ExplainContext {
		report: SessionReport;
		expected?: unknown;
		actual?: unknown;
		observed?: unknown;
	}

	export interface SkillAssertionOptions extends AssertionOptions {
		/** Detections that are less sure do not count. */
		minConfidence?: SkillConfidence;
	}

	export interface FileChangeOptions extends AssertionOptions {
		/** Other kinds of changes do not count. */
		kind?: FileChange["kind"];
	}

	export interface JudgeOptions extends AssertionOptions {
		/** The answer that is right: "yes", unless said otherwise. */
		expect?: "yes" | "no";
		/** How often to ask; the majority decides. */
		votes?: number;
		/** Whether the judge sees what the agent was asked: yes, unless said otherwise. */
		includePrompt?: boolean;
		/** What to judge instead of the final output. */
		output?: string;
	}

	export interface SimilarOptions extends AssertionOptions {
		/** The least cosine similarity, 0.8 unless said otherwise. */
		threshold?: number;
		/** What to compare instead of the final output. */
		output?: string;
	}

	export interface LeakOptions extends AssertionOptions {
		/**
		 * Where to look: in the final output and the messages of the model, in the commands and the arguments of tool calls, in the
		 * names of changed files and what was added to them. Everywhere, unless said otherwise.
		 */
		in?: readonly ("output" | "commands" | "files")[];
	}

	/** Checks of a list of things that the session did. */
	export interface ListAssertions<M> {
		/** Some of them matches. */
		includes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
		/** None matches. */
		notIncludes(report: SessionReport, matcher: M, options?: AssertionOptions): void;
		/** Exactly n match. */
		count(report: SessionReport, matcher: M, n: number, options?: AssertionOptions): void;
		atLeast(report: SessionReport, matcher: M, n: number, options?: AssertionOptions): void;
		atMost(report: SessionReport, matcher: M, n: number, options?: AssertionOptions): void;
		exactlyOne(report: SessionReport, matcher: M, options?: AssertionOptions): void;
		/** Both match something, and the first match of the first comes before that of the second. */
		before(report: SessionReport, first: M, second: M, options?: AssertionOptions): void;
		/** All of them match one of the matchers. */
		only(report: SessionReport, matchers: readonly M[], options?: AssertionOptions): void;
		/** There are exactly n. */
		size(report: SessionReport, n: number, options?: AssertionOptions): void;
		/** There is a first one, and it matches. */
		first(report: SessionReport, matcher: M, options?: AssertionOptions): void;
		last(report: SessionReport, matcher: M, options?: AssertionOptions): void;
	}

	/** The commands that the agent ran. */
	export interface CommandAssertions extends ListAssertions<CommandMatcher> {
		/** Some command that matches ended with exit code 0. */
		succeeded(report: SessionReport, matcher: CommandMatcher, options?: AssertionOptions): void;
		/** Some command that matches ended with another exit code. */
		failed(report: SessionReport, matcher: CommandMatcher, options?: AssertionOptions): void;
	}

	/** The files that the agent read. */
	export interface FileReadAssertions extends ListAssertions<Matcher> {}

	/** What tools returned. */
	export interface ToolResultAssertions extends ListAssertions<ToolResultMatcher> {}

	/** The tools that the agent called. */
	export interface ToolCallAssertions extends ListAssertions<ToolCallMatcher> {
		/** The same as includes. */
		has(report: SessionReport, matcher: ToolCallMatcher, options?: AssertionOptions): void;
		/** The same as notIncludes. */
		notHas(report: SessionReport, matcher: ToolCallMatcher, options?: AssertionOptions): void;
		/** The matchers match calls in this order; other calls may stand between them. */
		sequence(report: SessionReport, matchers: readonly ToolCallMatcher[], options?: AssertionOptions): void;
	}

	/** The skills that the agent used, by name: a string is the whole name, a RegExp is tested on it. */
	export interface SkillAssertions {
		has(report: SessionReport, skill: string | RegExp, options?: SkillAssertionOptions): void;
		notHas(report: SessionReport, skill: string | RegExp, options?: SkillAssertionOptions): void;
		includes(report: SessionReport, skills: readonly (string | RegExp)[], options?: SkillAssertionOptions): void;
		count(report: SessionReport, skill: string | RegExp, n: number, options?: SkillAssertionOptions): void;
		exactlyOne(report: SessionReport, skill: string | RegExp, options?: SkillAssertionOptions): void;
		only(report: SessionReport, skills: readonly (string | RegExp)[], options?: SkillAssertionOptions): void;
	}

	/** The final output. */
	export interface OutputAssertions {
		includes(report: SessionReport, matcher: Matcher, options?: AssertionOptions): void;
		notIncludes(report: SessionReport, matcher: Matcher, options?: AssertionOptions): void;
		notEmpty(report: SessionReport, options?: AssertionOptions): void;
	}

	/** The workspace after the session. Paths are as seen from the workspace. */
	export interface FileAssertions {
		exists(report: SessionReport, path: string, options?: AssertionOptions): void;
		notExists(report: SessionReport, path: string, options?: AssertionOptions): void;
		/** The file's text matches. */
		contains(report: SessionReport, path: string, matcher: Matcher, options?: AssertionOptions): void;
		/** The file is there, and its text does not match. */
		notContains(report: SessionReport, path: string, matcher: Matcher, options?: AssertionOptions): void;
		/** The session changed the file: a string is its whole path, a RegExp is tested on it. */
		changed(report: SessionReport, path: Matcher, options?: FileChangeOptions): void;
		notChanged(report: SessionReport, path: Matcher, options?: FileChangeOptions): void;
		/** The session changed no other files. */
		onlyChanged(report: SessionReport, paths: readonly Matcher[], options?: FileChangeOptions): void;
	}

	export type UsageMetric = "totalTokens" | "inputTokens" | "outputTokens" | "reasoningTokens" | "cacheTokens" | "cacheWriteTokens";

	/** What the session used. A figure that the session does not tell is an error, no failure. */
	export interface UsageAssertions {
		/** Tokens that were not served from a cache, or those of another metric. */
		tokensAtMost(report: SessionReport, tokens: number, options?: AssertionOptions & { metric?: UsageMetric }): void;
		/** In US dollars. */
		costAtMost(report: SessionReport, usd: number, options?: AssertionOptions): void;
		/** Steps as the agent counts them. */
		stepsAtMost(report: SessionReport, steps: number, options?: AssertionOptions): void;
		/** In milliseconds. */
		durationAtMost(report: SessionReport, ms: number, options?: AssertionOptions): void;
	}

	export interface PermissionAssertions {
		/** Nothing that the agent wanted to do was denied to it. */
		noneDenied(report: SessionReport, options?: AssertionOptions): void;
	}

	/** The groups that are about session reports. */
	export interface ReportAssertions {
		skills: SkillAssertions;
		commands: CommandAssertions;
		fileReads: FileReadAssertions;
		toolCalls: ToolCallAssertions;
		toolResults: ToolResultAssertions;
		output: OutputAssertions;
		files: FileAssertions;
		usage: UsageAssertions;
		permissions: PermissionAssertions;
		/** Asks the judge model a question about the answer that can be answered with yes or no. */
		judge(report: SessionReport, question: string, options?: JudgeOptions): Promise<void>;
		/** Asks the embedding model whether the answer means about the same as text. */
		similar(report: SessionReport, text: string, options?: SimilarOptions): Promise<void>;
		/**
		 * No secret that the run knows is in what came of the session, in any form that Plumb finds. The failure names the secret and never
		 * holds its value. It is an error in a run that knows no secret.
		 */
		leaksNoSecret(report: SessionReport, options?: LeakOptions): void;
	}

	/** What a thrown error is compared with: its text, its class, its members, or a function that returns true. */
	export type ErrorMatcher = RegExp | (abstract new (...args: any[]) => unknown) | ((error: any) => boolean) | object;

	export interface AssertionErrorOptions {
		message?: string;
		actual?: unknown;
		expected?: unknown;
		operator?: string;
		stackStartFn?: Function;
	}

	/** What a check throws that does not hold. */
	export interface AssertionError extends Error {
		name: "AssertionError";
		code: "ERR_ASSERTION";
		actual: unknown;
		expected: unknown;
		operator: string;
		generatedMessage: boolean;
	}

	/** What node:assert/strict has for both hard and soft assertions. */
	interface CommonAssertions {
		fail(message?: string | Error): never | void;
		notEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		notStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		notDeepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		notDeepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		partialDeepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		throws(block: () => unknown, message?: string | Error): void;
		throws(block: () => unknown, error: ErrorMatcher, message?: string | Error): void;
		doesNotThrow(block: () => unknown, message?: string | Error): void;
		doesNotThrow(block: () => unknown, error: ErrorMatcher, message?: string | Error): void;
		rejects(block: Promise<unknown> | (() => Promise<unknown>), message?: string | Error): Promise<void>;
		rejects(block: Promise<unknown> | (() => Promise<unknown>), error: ErrorMatcher, message?: string | Error): Promise<void>;
		doesNotReject(block: Promise<unknown> | (() => Promise<unknown>), message?: string | Error): Promise<void>;
		doesNotReject(block: Promise<unknown> | (() => Promise<unknown>), error: ErrorMatcher, message?: string | Error): Promise<void>;
		match(value: string, regExp: RegExp, message?: string | Error): void;
		doesNotMatch(value: string, regExp: RegExp, message?: string | Error): void;
		AssertionError: { new (options: AssertionErrorOptions): AssertionError; prototype: AssertionError };
	}

	/** Assertions whose failures are collected until the case's assert has ended. */
	export interface SkillgymSoftAssert extends CommonAssertions, ReportAssertions {
		(value: unknown, message?: string | Error): void;
		ok(value: unknown, message?: string | Error): void;
		equal(actual: unknown, expected: unknown, message?: string | Error): void;
		strictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		deepEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		deepStrictEqual(actual: unknown, expected: unknown, message?: string | Error): void;
		ifError(value: unknown): void;
		strict: SkillgymSoftAssert;
	}

	/** The function object of node:assert/strict itself, with groups added. */
	export interface SkillgymAssert extends CommonAssertions, ReportAssertions {
		(value: unknown, message?: string | Error): asserts value;
		ok(value: unknown, message?: string | Error): asserts value;
		fail(message?: string | Error): never;
		equal<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
		strictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
		deepEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
		deepStrictEqual<T>(actual: unknown, expected: T, message?: string | Error): asserts actual is T;
		ifError(value: unknown): asserts value is null | undefined;
		strict: SkillgymAssert;
		/** Collects failures until the case's assert has ended. */
		soft: SkillgymSoftAssert;
		/** Calls callback; what it throws belongs to the class. Of several the outermost wins. */
		classify<T>(failureClass: FailureClass | string, callback: () => T): T;
	}

	export type PlumbAssert = SkillgymAssert;
	export type PlumbSoftAssert = SkillgymSoftAssert;
	// As skillgym 0.8 writes them.
	export type SkillGymAssert = SkillgymAssert;
	export type SkillGymSoftAssert = SkillgymSoftAssert;

	export const assert: SkillgymAssert;

	// ------------------------------------------------------------------------------------------------------------- config

	// BEGIN agents: generated by go generate ./...
	export type AgentType = "codex" | "claude-code" | "opencode" | "cursor-agent" | "copilot" | "gemini" | "qwen";
	// END agents
	export type RunnerId = string;
	export type ScheduleMode = "serial" | "parallel" | "isolated-by-runner";

	/** A coding-agent CLI. */
	export interface AgentConfigBase {
		/** The agent's own name for the model. */
		model: string;
		/** The program, a name or a path, if not the agent's usual one. */
		command?: string;
		/** Come before all other arguments: they are for launchers such as npx. */
		commandArgs?: string[];
		/** Come after the agent's sub-command and before the prompt. */
		args?: string[];
		env?: Record<string, string>;
		/** Pins the version of the CLI: "2.1" matches 2.1.328. */
		version?: string;
		/** "bypass", unless said otherwise, lets the agent do all it wants; "default" leaves it to the agent's own rules. */
		permissions?: "default" | "bypass";
		/** Directories with a SKILL.md to offer. */
		skills?: string[];
		/** Servers of tools to offer, by name. */
		mcpServers?: Record<string, McpServerConfig>;
		/** Lets the agent see the user's own configuration, skills and memory. */
		inheritConfig?: boolean;
		/** Sends the requests for the model elsewhere. */
		baseURL?: string;
		/** The environment variable with the key for baseURL. */
		apiKeyEnv?: string;
	}

	export interface McpServerConfig {
		command?: string;
		args?: string[];
		env?: Record<string, string>;
		url?: string;
		headers?: Record<string, string>;
	}

	// The names that skillgym has for some of them.
	export interface CodexAgentConfig extends AgentConfigBase { type: "codex" }
	export interface OpenCodeAgentConfig extends AgentConfigBase { type: "opencode" }
	export interface ClaudeCodeAgentConfig extends AgentConfigBase { type: "claude-code" }
	export interface CursorAgentConfig extends AgentConfigBase { type: "cursor-agent" }
	export interface CopilotAgentConfig extends AgentConfigBase { type: "copilot" }
	export interface GeminiAgentConfig extends AgentConfigBase { type: "gemini" }

	export type AgentConfig = { [T in AgentType]: AgentConfigBase & { type: T } }[AgentType];

	/** Milliseconds, or a text such as "90s" or "1h30m". */
	export type Duration = number | string;

	/** A runner: an agent, a model, a command, or an earlier run. */
	export type RunnerConfig = (
		| { agent: AgentConfig }
		| ModelRunnerConfig
		| ({ command: string[]; env?: Record<string, string> } & ModelParameters)
		| { replay: string }
	) & { timeoutMs?: Duration; maxParallel?: number };

	export interface ModelParameters {
		/** Null sends none. */
		temperature?: number | null;
		seed?: number | null;
		topP?: number;
		maxOutputTokens?: number;
		reasoningEffort?: string;
	}

	export interface ModelRunnerConfig extends ModelParameters {
		/** "provider:model", or a name that Plumb knows. */
		model: string;
		baseURL?: string;
		api?: "chat" | "responses";
		/** The environment variable with the key. */
		apiKeyEnv?: string;
		headers?: Record<string, string>;
	}

	/** The settings of a run. */
	export interface RunOptions {
		// BEGIN settings: generated by go generate ./...
		/** Tier of a published suite: cheap, moderate or comprehensive. */
		tier?: string;
		/** Models to test: provider:model, an alias, or a known name. */
		model?: string | string[];
		/** Ids of the runners to use; all by default. */
		runner?: string | string[];
		/** Program that answers prompts, run by the shell. */
		command?: string;
		/** Earlier run whose recorded sessions are replayed. */
		replay?: string;
		/** Run only the cases with these ids. */
		case?: string | string[];
		/** Run only cases with one of these prompts, by label. */
		prompt?: string | string[];
		/** Another name for prompt. */
		prompts?: string | string[];
		/** Run only cases with one of these tags. */
		tag?: string | string[];
		/** Another name for tag. */
		tags?: string | string[];
		/** Run only cases of these categories. */
		category?: string | string[];
		/** Run only cases of these difficulties. */
		difficulty?: string | string[];
		/** Run only the first n of the selected cases. */
		limit?: number;
		/** Which sessions may overlap (default parallel; serial for agents). */
		schedule?: "serial" | "parallel" | "isolated-by-runner";
		/** Largest number of sessions in flight (default 16; for agents the number of processors). */
		parallel?: number;
		/** Another name for parallel. */
		maxParallel?: number;
		/** Samples of each case. */
		repeat?: number;
		/** How often to repeat a failed sample. */
		retry?: number;
		/** Another name for retry. */
		repeatFailure?: number;
		/** Another name for retry. */
		retryFailed?: number;
		/** Run every sample of repeat for agents, even after a failure. */
		allRepetitions?: boolean;
		/** Longest working time of one session, without waits for rate limits. */
		timeoutMs?: Duration;
		/** Whether to use stored answers of earlier runs, or nothing else. */
		cache?: "off" | "on" | "only";
		/** Stop after n failed or unmeasured cases. */
		maxFailures?: number;
		/** Stop before spending more than this number of US dollars. */
		maxCostUSD?: number;
		/** Stop before using more than this number of tokens. */
		maxTokens?: number;
		/** Start no session after this time. */
		maxDurationMs?: Duration;
		/** Run although a budget cannot be enforced, because a price or the usage is unknown. */
		allowUnmetered?: boolean;
		/** Smallest pass rates of each runner and prompt, such as 0.9, low:0.85 or tag:billing=0.8; failures are then allowed. */
		minPassRate?: number | string | (number | string)[];
		/** Smallest measured shares of the cases of each runner and prompt, such as 0.95; cases without a result are then allowed. */
		minCoverage?: number | string | (number | string)[];
		/** Model or runner id that answers llm_judge, instead of the judge at the top level. */
		judge?: string;
		/** Answers per question to the judge, an odd number; the majority counts (default 1). */
		judgeVotes?: number;
		/** Warn if Cohen's kappa of the judge with its gold labels is lower; 0.6 by default. */
		minKappa?: number;
		/** Embedding model for semantic_similarity, instead of the embedder at the top level. */
		embedder?: string;
		/** Address of an OpenAI-compatible server, or a replacement for the provider's own address. */
		baseURL?: string;
		/** Interface of openai to use. */
		api?: "chat" | "responses";
		/** Environment variable that holds the key. */
		apiKeyEnv?: string;
		/** Headers to send with each request, as name=value; ${NAME} is expanded. */
		header?: string | string[];
		/** Sampling temperature; 0 by default; null sends none; for runners that do not set it. */
		temperature?: number | null;
		/** Sampling seed; 42 by default; null sends none; for runners that do not set it. */
		seed?: number | null;
		/** Limit on the tokens of an answer, including reasoning; for runners that do not set it. */
		maxOutputTokens?: number;
		/** Reasoning effort in the provider's words, such as low or high; for runners that do not set it. */
		reasoningEffort?: string;
		/** Time limit of one request. */
		requestTimeoutMs?: Duration;
		/** Directory that agents work in, if Plumb makes no workspace for them. */
		cwd?: string;
		/** Where sessions work, if the suite does not set it. */
		workspace?: SuiteWorkspaceConfig;
		/** Directory to make workspaces in, outside any project (default: the system's directory for temporary files). */
		workspaces?: string;
		/** Also keep the workspaces of sessions that passed. */
		keepWorkspaces?: boolean;
		/** Stop an agent that takes more steps. */
		maxSteps?: number;
		/** Reports to write: terminal, json, json-summary, junit, github-actions, markdown, html; or a TypeScript module. */
		report?: string | string[];
		/** Another name for report. */
		reporter?: string | string[];
		/** Also append a block in the results.json list format to this file. */
		output?: string;
		/** Directory of runs and cache (default .plumb). */
		outputDir?: string;
		/** Environment variables whose values are removed from everything that is written, beside those that Plumb knows to be secret. */
		redact?: string | string[];
		// END settings
	}

	/** What one million tokens cost, in US dollars. */
	export interface Price {
		input?: number;
		output?: number;
		cacheRead?: number;
		cacheWrite?: number;
		perRequest?: number;
	}

	/** What plumb.config.* and skillgym.config.* export. */
	export interface SkillgymConfig {
		run?: RunOptions;
		defaults?: { timeoutMs?: Duration };
		/** A text names a model: "provider:model". */
		runners: Record<RunnerId, RunnerConfig | string>;
		snapshots?: {
			path?: string;
			/** costUsd and latencyMs need the tolerance "auto". */
			metric?: "totalTokens" | "inputTokens" | "outputTokens" | "reasoningTokens" | "cacheTokens" | "costUsd" | "latencyMs";
			/** "auto": what the variance of the samples allows. */
			tolerance: "auto" | { absolute?: number; percent?: number };
		};
		$schema?: string;
		suites?: string | string[];
		judge?: string | { runner: string; votes?: number } | (Exclude<RunnerConfig, { agent: AgentConfig }> & { votes?: number });
		embedder?: string | { model: string; baseURL?: string; apiKeyEnv?: string };
		prices?: Record<string, Price>;
		/** Where plumb submit sends runs. */
		server?: string | { url: string; project?: string; share?: "scores" | "answers" | "sessions" };
	}

	export type PlumbConfig = SkillgymConfig;
	/** As skillgym 0.8 writes it. */
	export type SkillGymConfig = SkillgymConfig;

	/** Finds, executes and checks the config for a suite. */
	export function loadConfig(options: { suitePath: string; configPath?: string }): Promise<{ filePath?: string; config: SkillgymConfig }>;
	/** Checks a config and gives it back; throws what is wrong with it. */
	export function parseConfig(raw: unknown): SkillgymConfig;

	// ------------------------------------------------------------------------------------------------------------ results

	/** A configured runner. */
	export interface RunnerInfo {
		id: RunnerId;
		/** Its name in artifact paths. */
		pathKey: string;
		kind?: "model" | "agent" | "command" | "replay";
		agent: { type: AgentType | (string & {}); model: string };
	}

	export type RunnerResultStatus = "passed" | "failed" | "expected-failed" | "unexpected-passed" | "skipped";

	export type RunnerFailureOrigin =
		| "assertion" | "assert-hook" | "max-steps" | "model-rejected" | "runner" | "workspace-bootstrap" | "workspace" | "collection"
		| "normalization" | "snapshot" | "timeout" | "judge";

	interface ResultBase {
		runner: RunnerInfo;
		passed: boolean;
		status: RunnerResultStatus;
		/** What is known: an error could not be measured. */
		outcome?: "pass" | "fail" | "error" | "skipped";
		durationMs: number;
		executionArtifactDir: string;
		artifactDir: string;
		report: SessionReport;
		error?: { name: string; message: string; stack?: string };
		failureOrigin?: RunnerFailureOrigin;
		failureClass?: FailureClass;
		failureLogPath?: string;
	}

	/** One session. */
	export interface RunnerSessionResult extends ResultBase {
		session: number;
	}

	/** One planned sample, with its retries. */
	export interface RepetitionResult extends ResultBase {
		repetition: number;
		session?: number;
		sessions?: RunnerSessionResult[];
	}

	/** One case on one runner, with all its repetitions. */
	export interface RunnerResult extends ResultBase {
		session?: number;
		sessions?: RunnerSessionResult[];
		repeatTarget?: number;
		completedRepetitions?: number;
		successfulRepetitions?: number;
		stoppedAtRepetition?: number;
		/** How the case behaves when it is repeated, and how probable that is. */
		label?: "stable pass" | "stable fail" | "flaky" | "undetermined";
		sure?: number;
		repetitions?: RepetitionResult[];
	}

	export interface CaseResult {
		caseId: string;
		tags: string[];
		passed: boolean;
		runnerResults: RunnerResult[];
	}

	export interface RunnerSummary {
		runner: RunnerInfo;
		totalCases: number;
		passedCases: number;
		successRate: number;
		averageDurationMs: number;
		averageInputTokens?: number;
		averageOutputTokens?: number;
		averageReasoningTokens?: number;
		averageCacheTokens?: number;
		averageTotalTokens?: number;
	}

	/** results.json. */
	export interface SuiteRunResult {
		suitePath: string;
		startedAt: string;
		endedAt: string;
		durationMs: number;
		suiteRunArtifactDir: string;
		declaredTags: string[];
		selectedTags: string[];
		cases: CaseResult[];
		runners: RunnerSummary[];
	}

	// ---------------------------------------------------------------------------------------------------------- reporters

	/** Renders a run. Each hook is awaited; none is called concurrently. */
	export interface BenchmarkReporter {
		onSuiteStart?(event: SuiteStartEvent): void | Promise<void>;
		onCaseStart?(event: CaseStartEvent): void | Promise<void>;
		onRunnerStart?(event: RunnerStartEvent): void | Promise<void>;
		onRunnerFinish?(event: RunnerFinishEvent): void | Promise<void>;
		onCaseFinish?(event: CaseFinishEvent): void | Promise<void>;
		onSuiteFinish?(event: SuiteFinishEvent): void | Promise<void>;
		onError?(event: SuiteErrorEvent): void | Promise<void>;
	}

	export type Reporter = BenchmarkReporter;

	export interface ReporterContext {
		isInteractive: boolean;
		cwd: string;
		workspaceMode: "none" | "shared" | "isolated";
		suitePath: string;
		suiteRunArtifactDir: string;
		selectedCaseCount: number;
		selectedRunnerCount: number;
		selectedExecutionCount: number;
		repeat?: number;
		scheduleMode: ScheduleMode;
		maxParallel: number;
		caseFilter?: string | string[];
		runnerFilter?: string | string[];
		tagFilter?: string[];
		declaredTags: string[];
	}

	export interface SuiteStartEvent {
		context: ReporterContext;
		cases: Case[];
		runners: RunnerInfo[];
		startedAt: string;
	}

	export interface CaseStartEvent {
		context: ReporterContext;
		case: Case;
		/** From 1. */
		caseIndex: number;
		totalCases: number;
	}

	export interface RunnerStartEvent extends CaseStartEvent {
		runner: RunnerInfo;
		session?: number;
		maxSessions?: number;
	}

	export interface RunnerFinishEvent extends RunnerStartEvent {
		result: RunnerResult;
	}

	export interface CaseFinishEvent extends CaseStartEvent {
		result: CaseResult;
	}

	export interface SuiteFinishEvent {
		context: ReporterContext;
		/** results.json is on disk already. */
		result: SuiteRunResult;
	}

	export interface SuiteErrorEvent {
		context: ReporterContext;
		error: unknown;
	}

	export interface ReporterOptions {
		/** Takes what would go to standard output. */
		stdout?: { write(text: string): unknown };
		isInteractive?: boolean;
		isUnicode?: boolean;
		env?: Record<string, string | undefined>;
	}

	export const BUILT_IN_REPORTER_NAMES: readonly ["standard", "json", "json-summary", "github-actions", "html"];

	/** A built-in reporter by its name, or that of a module; relative paths begin at cwd. */
	export function loadReporter(specifier: string | undefined, cwd: string): Promise<BenchmarkReporter>;
	export function createStandardReporter(options?: Pick<ReporterOptions, "stdout" | "isInteractive" | "isUnicode">): BenchmarkReporter;
	export function createJsonReporter(options?: Pick<ReporterOptions, "stdout">): BenchmarkReporter;
	export function createJsonSummaryReporter(options?: Pick<ReporterOptions, "stdout">): BenchmarkReporter;
	export function createGitHubActionsReporter(options?: Pick<ReporterOptions, "stdout" | "env">): BenchmarkReporter;
	export function createHtmlReporter(): BenchmarkReporter;
}

declare module "skillgym" {
	export * from "plumb";
}

declare module "plumb/testing" {
	import type { ParsedCommand } from "plumb";

	/** Calls callback as a case's assert is called: the failures of its soft assertions are thrown as one at the end. */
	export function runWithSoftAssertions<T>(callback: () => T): Promise<Awaited<T>>;
	/** Takes a command apart as assert.commands does. */
	export function parseCommand(command: string): ParsedCommand;
}

declare module "skillgym/testing" {
	export * from "plumb/testing";
}
