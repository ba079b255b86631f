// Runs code that arrives on descriptor 3 in one lasting scope and reports on descriptor 4, a JSON value per line.
const { writeSync, createReadStream } = require("node:fs");
const { createInterface } = require("node:readline");
const { PassThrough } = require("node:stream");
const { inspect } = require("node:util");
const repl = require("node:repl");

const limit = 4 * 1024 * 1024;
const rich = Symbol.for("Jupyter.display");
let count = 0;

// The interpreter of Node's own prompt: it keeps declarations between calls and knows top-level await.
const session = repl.start({
  prompt: "", input: new PassThrough(), output: process.stderr, terminal: false, useGlobal: true, breakEvalOnSigint: true,
});
process.on("SIGINT", () => {});

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
    const more = value?.[rich]?.();
    for (const [mime, content] of Object.entries(more ?? {})) {
      if ((typeof content === "string" ? content : JSON.stringify(content)).length <= limit) data[mime] = content;
    }
  } catch {}
  return data;
}

function failure(thrown) {
  const error = thrown instanceof repl.Recoverable ? thrown.err : thrown;
  const isError = typeof error === "object" && error !== null && "message" in error;
  return {
    type: "error",
    name: isError ? String(error.name) : "Error",
    message: (isError ? String(error.message) : inspect(error)).slice(0, limit),
    traceback: String(error?.stack ?? "").slice(0, limit),
  };
}

globalThis.display = (...values) => {
  for (const value of values) emit({ type: "display", data: bundle(value) });
};

function run(code) {
  return new Promise((resolve) => {
    session.eval(`${code}\n`, session.context, `cell-${count}.js`, (error, value) => {
      if (error) emit(failure(error));
      else if (value !== undefined) emit({ type: "result", data: bundle(value) });
      resolve();
    });
  });
}

let queue = Promise.resolve();
createInterface({ input: createReadStream(null, { fd: 3 }) }).on("line", (line) => {
  queue = queue.then(async () => {
    count++;
    try {
      await run(JSON.parse(line).code);
    } catch (error) {
      emit(failure(error));
    }
    emit({ type: "end", execution_count: count });
  });
}).on("close", () => process.exit());
