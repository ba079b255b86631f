import { type Context, isSpanContextValid, type TextMapPropagator, trace } from "@opentelemetry/api";

const header = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;
const longestState = 512;

/** W3C trace context and nothing else: `traceparent`, and `tracestate` passed on as it came. */
export const traceContext: TextMapPropagator<Record<string, string>> = {
  fields: () => ["traceparent", "tracestate"],
  inject: (context, carrier) => {
    const span = trace.getSpanContext(context);
    if (span === undefined || !isSpanContextValid(span)) return;
    carrier["traceparent"] = `00-${span.traceId}-${span.spanId}-${span.traceFlags.toString(16).padStart(2, "0")}`;
    const state = span.traceState?.serialize();
    if (state) carrier["tracestate"] = state;
  },
  extract: (context, carrier) => {
    const [, version, traceId = "", spanId = "", flags = "", rest] = header.exec(carrier["traceparent"] ?? "") ?? [];
    // Version ff is forbidden, and 00 has nothing after the flags.
    if (version === undefined || version === "ff" || (version === "00" && rest !== undefined)) return context;
    const span = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & 1, isRemote: true };
    return isSpanContextValid(span) ? withState(context, span, carrier["tracestate"]) : context;
  },
};

function withState(context: Context, span: Parameters<typeof trace.setSpanContext>[1], state = ""): Context {
  if (state === "" || state.length > longestState) return trace.setSpanContext(context, span);
  return trace.setSpanContext(context, { ...span, traceState: opaqueState(state) });
}

/** Others' state is theirs: it is carried, not changed. */
function opaqueState(text: string): NonNullable<Parameters<typeof trace.setSpanContext>[1]["traceState"]> {
  const state = { serialize: () => text, get: () => undefined, set: () => state, unset: () => state };
  return state;
}
