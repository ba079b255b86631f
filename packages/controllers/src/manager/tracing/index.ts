export { otlpSender } from "./otlp-sender.ts";
export { OtlpTracing, type OtlpTracingOptions } from "./otlp-tracing.ts";
