// The difference of two texts, line by line: Myers, "An O(ND) Difference Algorithm and Its
// Variations", 1986.

export interface Step {
	op: "same" | "actual" | "expected";
	line: string;
}

/**
 * The steps that turn expected into actual, in order. With commas, a line equals another that only lacks the comma at its
 * end, as the last member of an object does.
 */
export function diff(actual: string[], expected: string[], commas: boolean): Step[] {
	const same = (x: string, y: string) => x === y || (commas && (x + "," === y || x === y + ","));
	const [n, m] = [actual.length, expected.length];
	const max = n + m;
	const reach = new Int32Array(2 * max + 2);
	const trace: Int32Array[] = [];
	for (let d = 0; d <= max; d++) {
		// Only the diagonals that this round can reach are kept.
		trace.push(reach.slice(max - d, max + d + 2));
		for (let k = -d; k <= d; k += 2) {
			const down = k === -d || (k !== d && reach[max + k - 1] < reach[max + k + 1]);
			let x = down ? reach[max + k + 1] : reach[max + k - 1] + 1;
			while (x < n && x - k < m && same(actual[x], expected[x - k])) x++;
			reach[max + k] = x;
			if (x >= n && x - k >= m) return walk(trace, actual, expected, commas);
		}
	}
	return [];
}

function walk(trace: Int32Array[], actual: string[], expected: string[], commas: boolean): Step[] {
	const steps: Step[] = [];
	let [x, y] = [actual.length, expected.length];
	for (let d = trace.length - 1; d >= 0; d--) {
		const at = (k: number) => trace[d][k + d];
		const k = x - y;
		const before = k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
		const fromX = d === 0 ? 0 : at(before);
		const fromY = d === 0 ? 0 : fromX - before;
		while (x > fromX && y > fromY) {
			const line = commas && !actual[x - 1].endsWith(",") ? expected[y - 1] : actual[x - 1];
			steps.push({ op: "same", line });
			x--;
			y--;
		}
		if (d > 0) {
			steps.push(x > fromX ? { op: "actual", line: actual[--x] } : { op: "expected", line: expected[--y] });
		}
	}
	return steps.reverse();
}
