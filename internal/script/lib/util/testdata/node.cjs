// Prints what Node itself says to table.js; the golden file comes from Node 22.
require("./table.js");
globalThis.runUtilTable(require("node:util")).then((results) => {
	const calls = globalThis.utilTable(require("node:util")).map((f) => f.toString().slice("() => ".length));
	console.log(JSON.stringify(results.map((result, i) => ({ call: calls[i], result })), undefined, "\t"));
});
