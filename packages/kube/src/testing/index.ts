export type { ApiCall, ServedResource, Verb } from "./api-call.ts";
export { type Fault, MemoryApiServer, type MemoryApiServerOptions, type OnRequest } from "./memory-api-server.ts";
export type { LogEntry, Snapshot } from "./object-log.ts";
export { seededRandom } from "./seeded-random.ts";
export { settle, VirtualClock } from "./virtual-clock.ts";
