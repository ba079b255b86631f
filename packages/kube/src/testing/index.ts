export type { ApiCall, ServedResource, Verb } from "./api-call.ts";
export { type Fault, MemoryApiServer, type MemoryApiServerOptions } from "./memory-api-server.ts";
export { settle, VirtualClock } from "./virtual-clock.ts";
