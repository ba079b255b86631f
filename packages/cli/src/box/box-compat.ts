import { type ApiServer, accountIdentity, type Listening } from "@agent-sandbox/apiserver";
import { type Compat, startCompat, type User } from "@agent-sandbox/compat";
import type { Client, Logger } from "@agent-sandbox/kube";
import type { Router } from "@agent-sandbox/router";
import { BoxMcp } from "./box-mcp.ts";
import { clientAs } from "./component-client.ts";

export interface BoxCompatOptions {
  readonly server: ApiServer;
  readonly listening: Listening;
  readonly router: Router;
  readonly listen: { readonly host: string; readonly port: number };
  readonly log: Logger;
}

const compatAccount = { namespace: "agent-sandbox-system", name: "agent-sandbox-compat" };

/** The listener for clients of other platforms and for MCP. It uses the router's caches, and each caller's own rights. */
export async function startBoxCompat(options: BoxCompatOptions): Promise<Compat> {
  const { server, listening, router, listen, log } = options;
  const { callers, tokens, url } = router;
  const client = clientAs(server, accountIdentity(compatAccount));
  const mcp = new BoxMcp({ listening, router, log });
  const compat = await startCompat({
    client,
    clientFor: (user) => clientOf(server, user),
    callers,
    tokens,
    router: new URL(url),
    listen,
    mounts: [mcp],
    log,
  });
  return {
    ...compat,
    [Symbol.asyncDispose]: async () => {
      // The listener waits until requests have ended.
      await mcp[Symbol.asyncDispose]();
      await compat[Symbol.asyncDispose]();
    },
  };
}

/** The user was authenticated by a TokenReview of this server. */
function clientOf(server: ApiServer, { username, uid, groups = [], extra }: User): Client {
  return clientAs(server, { user: username, uid, groups, extra });
}
