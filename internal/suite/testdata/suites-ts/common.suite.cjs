const { assert } = require("skillgym");
const { join } = require("path");

module.exports = [{ id: "common", prompt: join("a", "b"), assert: (report) => assert.match(report.finalOutput, /nothing/) }];
