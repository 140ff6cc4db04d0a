// The module "plumb", also named "skillgym", which suites, configs and reporters import.

import { assert } from "./assert";
import { CommandMatcherBuilder, commandMatcher } from "./commands";
import * as project from "./project";
import { described, judged } from "./judged";
import { lend } from "./lazy";
import { failureClass } from "./runs";
import * as testing from "./testing";

const { reporterHooks, reporterOf, ...doors } = project;

const plumb = { assert, commandMatcher, CommandMatcherBuilder, ...doors };

// Internals for the other modules, hidden from the list of exports.
Object.defineProperty(plumb, Symbol.for("plumb.internal"), {
	value: {
		testing: { runWithSoftAssertions: testing.runWithSoftAssertions, parseCommand: testing.parseCommand },
		judged, lend, described, failureClass, reporterHooks, reporterOf,
	},
});

export = plumb;
