/** What other packages of this repository need below the public classes. Not part of the published package. */
export { discover, loadedServers } from "./connect/discover.ts";
export { namedServers, type Servers } from "./connect/named-servers.ts";
export { Deadline } from "./deadline.ts";
export { decodeBase64, encodeBase64 } from "./http/base64.ts";
export { readText, type SendHttp } from "./http/exchange.ts";
export { readJsonLines } from "./http/lines.ts";
export { NodeHttp } from "./http/node.ts";
export { ApiServer, type ObjectName } from "./kube/api-server.ts";
export {
  type ClaimObject,
  claims,
  type KubeObject,
  type PoolObject,
  pools,
  type Resource,
  type SandboxObject,
  sandboxes,
  snapshots,
} from "./kube/resources.ts";
export { type Verdict, waitFor } from "./kube/wait.ts";
export { callJson, callRest, keepAliveSeconds } from "./runtime/rest.ts";
export { Router, type Target } from "./runtime/router.ts";
export { callUnary } from "./runtime/rpc.ts";
export { type CreateOptions, forkOf, type Identity } from "./sandbox/create-options.ts";
export { isClaimed, isReady } from "./sandbox/readiness.ts";
export { statusOf } from "./sandbox/sandbox.ts";
