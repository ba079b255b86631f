import { type OpenTelemetry, Tracing } from "./tracing.ts";

/** Where every copy of `@opentelemetry/api` 1.x keeps what the program has set, such as its tracer provider. */
const registry = Symbol.for("opentelemetry.js.api.1");

/**
 * Uses the module of the options, or else `@opentelemetry/api` if the program uses it already. Loading it takes longer than
 * everything else that the SDK loads, so that is not done for programs without traces.
 */
export async function loadTracing(given: OpenTelemetry | undefined): Promise<Tracing | undefined> {
  if (given !== undefined) return new Tracing(given);
  if (!(registry in globalThis)) return undefined;
  try {
    return new Tracing(await import("@opentelemetry/api"));
  } catch {
    return undefined;
  }
}
