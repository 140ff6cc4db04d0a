export default { run: { repeat: () => 2, when: new Map(), later: Promise.resolve(1) }, runners: { a: { agent: { model: Symbol("m") } } } };
