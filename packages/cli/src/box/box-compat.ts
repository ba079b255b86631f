import { type ApiServer, accountIdentity } from "@agent-sandbox/apiserver";
import { type Compat, type Mount, startCompat, type User } from "@agent-sandbox/compat";
import type { Client, Logger } from "@agent-sandbox/kube";
import type { Router } from "@agent-sandbox/router";
import { clientAs } from "./component-client.ts";

export interface BoxCompatOptions {
  readonly server: ApiServer;
  readonly router: Router;
  readonly listen: { readonly host: string; readonly port: number };
  readonly mounts: readonly Mount[];
  readonly log: Logger;
}

const compatAccount = { namespace: "agent-sandbox-system", name: "agent-sandbox-compat" };

/** The listener for clients of other platforms. It uses the router's caches, and each caller's own rights. */
export function startBoxCompat({ server, router, listen, mounts, log }: BoxCompatOptions): Promise<Compat> {
  const { callers, tokens, url } = router;
  const client = clientAs(server, accountIdentity(compatAccount));
  return startCompat({
    client,
    clientFor: (user) => clientOf(server, user),
    callers,
    tokens,
    router: new URL(url),
    listen,
    mounts,
    log,
  });
}

/** The user was authenticated by a TokenReview of this server. */
function clientOf(server: ApiServer, { username, uid, groups = [], extra }: User): Client {
  return clientAs(server, { user: username, uid, groups, extra });
}
