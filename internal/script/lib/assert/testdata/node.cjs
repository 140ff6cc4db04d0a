// Prints what Node itself says to table.js; the golden file comes from Node 22.
require("./table.js");
globalThis.runAssertTable(require("node:assert")).then((json) => console.log(JSON.stringify(JSON.parse(json), undefined, "\t")));
