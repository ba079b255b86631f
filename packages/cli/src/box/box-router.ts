import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { type ApiServer, accountIdentity } from "@agent-sandbox/apiserver";
import { type Router, type RouterOptions, startRouter } from "@agent-sandbox/router";
import type { BoxPaths } from "./box-paths.ts";
import { clientAs } from "./component-client.ts";

const routerAccount = { namespace: "agent-sandbox-system", name: "agent-sandbox-router" };

export function startBoxRouter(
  server: ApiServer,
  { paths, ...options }: Pick<RouterOptions, "listen" | "allowedOrigins" | "log"> & { readonly paths: BoxPaths },
): Promise<Router> {
  const client = clientAs(server, accountIdentity(routerAccount));
  return startRouter({ ...options, client, auth: { keyFiles: [routerKey(paths)] } });
}

/** Creates the key on the first start only, so that tokens stay valid after a restart. */
function routerKey({ routerKey: path }: BoxPaths): string {
  try {
    writeFileSync(path, randomBytes(32).toString("base64url"), { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return path;
}
