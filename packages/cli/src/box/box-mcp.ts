import type { Listening } from "@agent-sandbox/apiserver";
import type { Logger } from "@agent-sandbox/kube";
import { HttpEndpoint } from "@agent-sandbox/mcp";
import type { Router } from "@agent-sandbox/router";
import { NodeHttp, namedServers } from "@agent-sandbox/sdk/internal";
import { version } from "../version.ts";

export interface BoxMcpOptions {
  readonly listening: Listening;
  readonly router: Router;
  readonly log: Logger;
}

/** The MCP server of the box. It has no rights of its own: API server and router get the token of the caller. */
export class BoxMcp extends HttpEndpoint {
  readonly #http: NodeHttp;

  constructor({ listening, router, log }: BoxMcpOptions) {
    // A request of one user must not wait for those of others. Their number is limited already.
    const http = new NodeHttp({ maxSockets: Number.POSITIVE_INFINITY });
    const server = { server: listening.url, ca: listening.authority };
    super({
      userOf: async (token, peer) => (await router.callers.userOf(token, peer))?.username,
      servers: (token, namespace) => namedServers({ ...server, token, namespace }, router.url),
      send: http.send,
      source: { image: "host" },
      version,
      log,
    });
    this.#http = http;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await super[Symbol.asyncDispose]();
    this.#http[Symbol.dispose]();
  }
}
