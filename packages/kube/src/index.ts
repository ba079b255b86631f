export * from "./client.ts";
export * from "./errors.ts";
export type * from "./pod-streams.ts";
export * from "./resource.ts";
export type * from "./transport.ts";
