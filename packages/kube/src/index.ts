export * from "./client.ts";
export * from "./clock.ts";
export * from "./errors.ts";
export type * from "./pod-streams.ts";
export * from "./resource.ts";
export type * from "./transport.ts";
export type { ChangeEvent } from "./watch/batch.ts";
export * from "./watch/follow.ts";
