export { type FlagName, flagTable, type ManagerFlags } from "./flag-table.ts";
export { type BuildInfo, ManagerMetrics } from "./manager-metrics.ts";
export { type ParsedFlags, parseFlags } from "./parse-flags.ts";
export { type ManagerOptions, runManager, type ServingPorts } from "./run-manager.ts";
export type { IssueServingPair, ServingPair } from "./webhook-pair.ts";
