// What a program needs that only sends requests. It loads a tenth of the index, which contains the controller runtime.
export { type ClientOptions, createClient } from "./client/create-client.ts";
export type { ClusterAccess } from "./client/http/cluster-access.ts";
export { HttpTransport } from "./client/http/http-transport.ts";
export type * from "./client.ts";
export { isReason, KubeError } from "./errors.ts";
export { loadDefault } from "./kubeconfig/load.ts";
export type * from "./resource.ts";
export type * from "./transport.ts";
export { type Change, followResource } from "./watch/follow.ts";
