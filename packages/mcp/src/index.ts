export type { Caller, Settings } from "./caller.ts";
export { type StdioOptions, serveStdio } from "./serve-stdio.ts";
