// Reads code from descriptor 3, runs it in one persistent scope, and writes events to descriptor 4, one JSON value per line.
const { writeSync } = require("node:fs");
const { createRequire } = require("node:module");
const { Socket } = require("node:net");
const { createInterface } = require("node:readline");
const { inspect } = require("node:util");
const vm = require("node:vm");
const { processTopLevelAwait } = require("internal/repl/await");

const limit = 4 * 1024 * 1024;
const rich = Symbol.for("Jupyter.display");
let count = 0;
let interrupt = () => {};

function emit(event) {
  const data = Buffer.from(`${JSON.stringify(event)}\n`);
  for (let sent = 0; sent < data.length; ) {
    try {
      sent += writeSync(4, data, sent);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error;
    }
  }
}

function bundle(value) {
  const data = { "text/plain": inspect(value).slice(0, limit) };
  try {
    for (const [mime, content] of Object.entries(value?.[rich]?.() ?? {})) {
      if ((typeof content === "string" ? content : JSON.stringify(content)).length <= limit) data[mime] = content;
    }
  } catch {}
  return data;
}

function failure(error) {
  const isError = typeof error === "object" && error !== null && "message" in error;
  return {
    type: "error",
    name: isError ? String(error.name) : "Error",
    message: (isError ? String(error.message) : inspect(error)).slice(0, limit),
    traceback: String(error?.stack ?? "").slice(0, limit),
  };
}

const options = (filename) => ({ filename, importModuleDynamically: vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER });

// Scripts do not support top-level await. Such code is rewritten like in Node's REPL, so that declarations persist.
function compile(code, filename) {
  try {
    return { script: new vm.Script(code, options(filename)), waits: false };
  } catch (error) {
    const rewritten = error instanceof SyntaxError && /\bawait\b/.test(code) ? processTopLevelAwait(code) : null;
    if (rewritten === null) throw error;
    return { script: new vm.Script(rewritten, options(filename)), waits: true };
  }
}

async function run(code) {
  const { script, waits } = compile(code, `cell-${count}.js`);
  let value = script.runInThisContext({ breakOnSigint: true });
  if (waits) {
    const interrupted = new Promise((_, reject) => {
      interrupt = () => reject(new Error("interrupted"));
    });
    try {
      value = (await Promise.race([value, interrupted]))?.value;
    } finally {
      interrupt = () => {};
    }
  }
  if (value !== undefined) emit({ type: "result", data: bundle(value) });
}

globalThis.require = createRequire(`${process.cwd()}/`);
globalThis.display = (...values) => {
  for (const value of values) emit({ type: "display", data: bundle(value) });
};
process.on("SIGINT", () => interrupt());
// An error after the end of its cell must not end the process, which holds the variables of other cells.
process.on("uncaughtException", (error) => console.error("Uncaught", error));

function setVariables(added) {
  const before = Object.keys(added).map((name) => [name, process.env[name]]);
  Object.assign(process.env, added);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}

const flushed = (stream) => new Promise((resolve) => stream.write("", resolve));

async function cell(before, line) {
  await before;
  count++;
  let restore = () => {};
  try {
    const { code, env = {} } = JSON.parse(line);
    restore = setVariables(env);
    await run(code);
  } catch (error) {
    emit(failure(error));
  } finally {
    restore();
  }
  await flushed(process.stdout);
  await flushed(process.stderr);
  emit({ type: "end", execution_count: count });
}

let last = Promise.resolve();
// A socket instead of a file, because a thread that blocks in read() would delay process.exit().
createInterface({ input: new Socket({ fd: 3, readable: true, writable: false }) })
  .on("line", (line) => {
    last = cell(last, line);
  })
  .on("close", () => process.exit());
