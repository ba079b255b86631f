export type { Caller, Settings } from "./caller.ts";
export { callerOf, userOf } from "./connect.ts";
export { type Endpoint, hostSnippet, hosts } from "./host-snippet.ts";
export { HttpEndpoint, type HttpOptions } from "./http/http-endpoint.ts";
export { type StdioOptions, serveStdio } from "./serve-stdio.ts";
export { takeStandardOutput } from "./standard-output.ts";
