import { ProxyTracerProvider, trace } from "@opentelemetry/api";
import { afterEach, beforeEach, expect, test } from "vitest";
import { loadTracing } from "./load.ts";

const registry = Symbol.for("opentelemetry.js.api.1");
const globals = globalThis as Record<symbol, unknown>;
/** What tests in the same process have set. */
let before: unknown;

beforeEach(() => {
  before = globals[registry];
  Reflect.deleteProperty(globals, registry);
});
afterEach(() => {
  trace.disable();
  if (before === undefined) Reflect.deleteProperty(globals, registry);
  else globals[registry] = before;
});

test("programs that have set nothing have no traces", async () => {
  expect(await loadTracing(undefined)).toBeUndefined();
});

test("programs that have set a tracer provider have traces", async () => {
  trace.setGlobalTracerProvider(new ProxyTracerProvider());
  expect(await loadTracing(undefined)).toBeDefined();
});

test("the module of the options is used, whatever the program has set", async () => {
  const names: string[] = [];
  const tracing = await loadTracing({
    trace: {
      getTracer: (name) => {
        names.push(name);
        return trace.getTracer(name);
      },
      setSpan: (context) => context,
    },
    context: { active: () => ({}), with: (_, run) => run() },
  });
  expect(tracing?.start({ name: "files.read" })).toBeUndefined();
  expect(names).toEqual(["@agent-sandbox/sdk"]);
});
