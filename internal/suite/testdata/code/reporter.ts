// A custom reporter.
import { createStandardReporter, type BenchmarkReporter } from "skillgym";

const lines: string[] = [];

const reporter: BenchmarkReporter = {
	onSuiteStart({ context, cases }) {
		lines.push(`${cases.length} cases of ${context.suitePath}`);
	},
	async onRunnerFinish({ case: { id }, runner, result }) {
		await Promise.resolve();
		lines.push(`${id} on ${runner.id}: ${result.status}`);
	},
	onSuiteFinish() {
		console.log(lines.join("\n"));
	},
	onError({ error }) {
		if (error instanceof Error) throw new Error(`seen: ${error.message}`);
	},
};

export const make = createStandardReporter;
export default reporter;
