export { type FlagName, flagTable, type ManagerFlags } from "./flag-table.ts";
export type { BuildInfo } from "./manager-metrics.ts";
export { type ParsedFlags, parseFlags } from "./parse-flags.ts";
export { type ManagerOptions, runManager, type ServingPorts } from "./run-manager.ts";
export { otlpSender } from "./tracing/otlp-sender.ts";
export { OtlpTracing, type OtlpTracingOptions } from "./tracing/otlp-tracing.ts";
export type { IssueServingPair, ServingPair } from "./webhook-pair.ts";
