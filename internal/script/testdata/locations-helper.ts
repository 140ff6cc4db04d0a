import assert from "node:assert/strict";
type Shape = { text: string };
export function helper(r: Shape): void {
	const nested = () => { assert./*in-helper>*/strictEqual(r.text, "other"); };
	nested();
}
export async function later(): Promise<void> {
	await Promise.resolve();
	throw /*rejects>*/new TypeError("later");
}
export class Store {
	#value = 1;
	constructor(private readonly name: string = "s") {}
	#inner(): never { throw /*private-method>*/new Error(`${this.name} ${this.#value}`); }
	check(): void { this.#inner(); }
}
