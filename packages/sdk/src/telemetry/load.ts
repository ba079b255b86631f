import { type OpenTelemetry, Tracing } from "./tracing.ts";

/** Uses the module of the options, or else `@opentelemetry/api` if the program has installed it. */
export async function loadTracing(given: OpenTelemetry | undefined): Promise<Tracing | undefined> {
  if (given !== undefined) return new Tracing(given);
  try {
    return new Tracing(await import("@opentelemetry/api"));
  } catch {
    return undefined;
  }
}
