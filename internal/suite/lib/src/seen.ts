// The actions of a session, as lists that are made once per report.

import type { FileChange, ParsedCommand, SessionEvent, SessionReport } from "plumb";
import { describeCommand, parseCommand } from "./commands";
import { eachEvent, eventCount, eventsOf, type EventOf } from "./lazy";

/** A command, which is parsed on first use. */
export class Command {
	#parsed: ParsedCommand | undefined;

	constructor(readonly text: string, readonly exitCode: number | undefined, readonly truncated: boolean) {}

	get parsed(): ParsedCommand {
		return (this.#parsed ??= parseCommand(this.text));
	}

	describe(): string {
		return describeCommand(this.parsed);
	}
}

interface Lists {
	/** Weak, because events that still exist after their session are those that the suite keeps. */
	events: WeakRef<SessionEvent[]>;
	length: number;
	commands?: Command[];
	commandText?: string;
	fileReads?: string[];
	fileReadText?: string;
	toolCalls?: EventOf<"toolCall">[];
	toolResults?: EventOf<"toolResult">[];
	gaps?: { [type: string]: boolean };
}

const cache = new WeakMap<object, Lists>();

/** The lists of a report; they are made again after its events were changed. */
function listsOf(report: SessionReport): Lists {
	const known = cache.get(report);
	const length = eventCount(report);
	if (known !== undefined && known.events.deref() === report.events && known.length === length) return known;
	const lists = { events: new WeakRef(report.events), length };
	cache.set(report, lists);
	return lists;
}

export function commandsOf(report: SessionReport): Command[] {
	const lists = listsOf(report);
	if (lists.commands === undefined) {
		const found: Command[] = [];
		eachEvent(report, "command", (e) => found.push(new Command(e.command ?? "", e.exitCode ?? undefined, e.truncated === true)));
		lists.commands = found;
	}
	return lists.commands;
}

/** The files that were read: from events, or else from the report's list. */
export function fileReadsOf(report: SessionReport): string[] {
	const lists = listsOf(report);
	if (lists.fileReads === undefined) {
		lists.fileReads = eventsOf(report, "fileRead").map((e) => e.path);
		// If events are missing, the list has all files.
		if (lists.fileReads.length === 0 || lacks(report, "fileRead")) lists.fileReads = [...(report.files?.observedReads ?? [])];
	}
	return lists.fileReads;
}

/** The files that the agent asked for, and that it may have read. */
export const unprovenReadsOf = (report: SessionReport): readonly string[] => report.unprovenReads ?? [];

/** All commands in one text, with NUL between them. */
export const commandTextOf = (report: SessionReport): string =>
	(listsOf(report).commandText ??= commandsOf(report).map((c) => c.text).join("\0"));

export const fileReadTextOf = (report: SessionReport): string =>
	(listsOf(report).fileReadText ??= fileReadsOf(report).join("\0"));

export const lacks = (report: SessionReport, what: string): boolean => report.incomplete?.includes(what) === true;

export const toolCallsOf = (report: SessionReport): EventOf<"toolCall">[] =>
	(listsOf(report).toolCalls ??= eventsOf(report, "toolCall"));

export const toolResultsOf = (report: SessionReport): EventOf<"toolResult">[] =>
	(listsOf(report).toolResults ??= eventsOf(report, "toolResult"));

const listed = { command: commandsOf, toolCall: toolCallsOf, toolResult: toolResultsOf };

/** Whether the report lacks events of a type, or parts of their texts. A missing event then proves nothing. */
export function hasGaps(report: SessionReport, type: keyof typeof listed): boolean {
	const gaps = (listsOf(report).gaps ??= {});
	return (gaps[type] ??= lacks(report, type) || listed[type](report).some((v) => v.truncated === true));
}

export const changesOf = (report: SessionReport): readonly FileChange[] => report.files?.changed ?? [];

export type ToolCall = EventOf<"toolCall">;
export type ToolResult = EventOf<"toolResult">;
