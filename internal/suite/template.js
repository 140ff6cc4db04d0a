// Renders the templates of suites with nunjucks. It differs from nunjucks in what would be a silent mistake there: an
// undefined variable, and an object as text, are errors. It is appended to nunjucks, which is module.exports then.
const { Environment, Template, compiler, runtime, parser, nodes } = module.exports;

// Failure is a mistake at a place of a template: line and column count from 0.
class Failure extends Error {
  constructor(message, more, at) {
    super(message);
    Object.assign(this, more, { line: at?.lineno, column: at?.colno });
  }
}
let failure;
const fail = (message, more, at) => {
  failure = new Failure(message, more, at);
  throw failure;
};

const env = new Environment([], { autoescape: false });
delete env.filters.random; // a suite is the same each time it is read
env.addFilter("json", (value, indent) => JSON.stringify(value, null, indent));

// mayMiss marks an expression in which undefined is an ordinary value.
function mayMiss(node) {
  node.mayMiss = true;
  for (const type of [nodes.Symbol, nodes.LookupVal]) {
    for (const child of node.findAll(type)) child.mayMiss = true;
  }
}

const { compile, compileSymbol, compileLookupVal } = compiler.Compiler.prototype;
Object.assign(compiler.Compiler.prototype, {
  compile(node, frame) {
    switch (node.typename) {
      case "If":
      case "InlineIf":
        mayMiss(node.cond);
        break;
      case "Or":
      case "And":
      case "Is":
        mayMiss(node.left);
        break;
      case "Filter": {
        const name = node.name.value;
        if (!Object.hasOwn(env.filters, name)) {
          fail(`unknown filter "${name}"`, { word: name, known: Object.keys(env.filters) }, node);
        }
        if ((name === "default" || name === "d") && node.args.children.length > 0) mayMiss(node.args.children[0]);
        break;
      }
      case "Include":
      case "Import":
      case "FromImport":
      case "Extends":
        fail("a template cannot read other files", { hint: "use a prompt file, or a variable" }, node);
    }
    return compile.call(this, node, frame);
  },
  compileSymbol(node, frame) {
    if (node.mayMiss || frame.lookup(node.value)) return compileSymbol.call(this, node, frame);
    this._emit(`runtime.known(context, frame, ${JSON.stringify(node.value)}, ${node.lineno}, ${node.colno})`);
  },
  compileLookupVal(node, frame) {
    if (node.mayMiss) return compileLookupVal.call(this, node, frame);
    this._emit("runtime.member((");
    this._compileExpression(node.target, frame);
    this._emit("),");
    this._compileExpression(node.val, frame);
    this._emit(`,${JSON.stringify(path(node))}, ${node.lineno}, ${node.colno})`);
  },
});

// path returns the text of a lookup such as user.name.
function path(node) {
  if (node.typename !== "LookupVal") return String(node.value ?? "value");
  return `${path(node.target)}.${path(node.val)}`;
}

const { suppressValue } = runtime;
Object.assign(runtime, {
  known(context, frame, name, lineno, colno) {
    const value = runtime.contextOrFrameLookup(context, frame, name);
    if (value === undefined) fail(`undefined variable "${name}"`, { word: name }, { lineno, colno });
    return value;
  },
  member(of, key, name, lineno, colno) {
    const value = runtime.memberLookup(of, key);
    if (value === undefined) fail(`undefined variable "${name}"`, {}, { lineno, colno });
    return value;
  },
  suppressValue(value, autoescape) {
    if (Object.prototype.toString.call(value) === "[object Object]" && value.toString === Object.prototype.toString) {
      fail("an object is not a text", { hint: "name one of its keys, or add | dump" });
    }
    return suppressValue(value, autoescape);
  },
});

const most = 1000;
const templates = new Map();
function template(text) {
  let t = templates.get(text);
  if (!t) {
    if (templates.size >= most) templates.clear();
    t = new Template(text, env, undefined, true);
    templates.set(text, t);
  }
  return t;
}

// problem describes what nunjucks or this file threw.
function problem(err) {
  const f = failure ?? err;
  const message = String(err.message).split("\n").at(-1).trim();
  const [, line, column] = failure ? [] : /\[Line (\d+), Column (\d+)\]/.exec(err.message) ?? [];
  if (/: out of memory$/.test(message)) return { message: "the templates of the case need too much memory" };
  return {
    message: failure ? f.message : `invalid template: ${message.replace(/^(Template render error|Error): /, "")}`,
    hint: f.hint,
    word: f.word,
    known: f.known,
    line: Number(line ?? (f.line ?? -1) + 1),
    column: Number(column ?? (f.column ?? -1) + 1),
  };
}

// render returns the texts of the templates, up to the first one that fails, and its problem.
__entry.render = (texts, vars) => {
  const rendered = [];
  for (const text of texts) {
    failure = undefined;
    try {
      rendered.push(template(text).render(vars));
    } catch (err) {
      return { rendered, problem: problem(err) };
    }
  }
  return { rendered };
};
