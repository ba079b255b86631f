import type { IncomingMessage, ServerResponse } from "node:http";
import { kill } from "../../control/kill.ts";
import { findRoute, goneSignal, type Route } from "../../control/route.ts";
import { notOffered } from "../../http/http-error.ts";
import { sendEmpty, sendJson } from "../../http/reply.ts";
import type { Accounts } from "../../keys/accounts.ts";
import { connect } from "./connect.ts";
import type { ControlCall, ControlContext } from "./context.ts";
import { create } from "./create.ts";
import { fork } from "./fork.ts";
import { info } from "./info.ts";
import { list, listAll } from "./list.ts";
import { metrics } from "./metrics.ts";
import { updateNetwork } from "./network.ts";
import { pause } from "./pause.ts";
import { refresh, setTimeoutOf } from "./set-timeout.ts";
import { listSnapshots, takeSnapshot } from "./snapshots.ts";
import { deleteTemplate, findAlias, listTemplates } from "./templates.ts";

type Handler = (call: ControlCall) => Promise<void>;

const refused =
  (feature: string): Handler =>
  async () => {
    throw notOffered(feature);
  };

const teams: Handler = async ({ account: { namespace }, response }) =>
  sendJson(response, 200, [{ teamID: namespace, name: namespace, apiKey: "", isDefault: true }]);

const templateAdvice = "Building templates (create a SandboxTemplate instead, see docs/clients.md)";

/** The routes of both generations of clients. */
const routes: readonly Route<Handler>[] = [
  ["POST", /^\/v2\/sandboxes$/, (call) => create(call, { timeoutSeconds: 300 })],
  ["POST", /^\/sandboxes$/, (call) => create(call, { timeoutSeconds: 15 })],
  ["POST", /^\/v2\/sandboxes\/([^/]+)\/connect$/, (call) => connect(call, { timeoutSeconds: 300 })],
  ["POST", /^\/sandboxes\/([^/]+)\/(?:connect|resume)$/, (call) => connect(call, { timeoutSeconds: 15 })],
  ["GET", /^\/sandboxes\/([^/]+)$/, info],
  ["DELETE", /^\/sandboxes\/([^/]+)$/, kill],
  ["POST", /^\/sandboxes\/([^/]+)\/timeout$/, setTimeoutOf],
  ["POST", /^\/sandboxes\/([^/]+)\/refreshes$/, refresh],
  ["POST", /^\/sandboxes\/([^/]+)\/pause$/, pause],
  ["POST", /^\/sandboxes\/([^/]+)\/snapshots$/, takeSnapshot],
  ["POST", /^\/sandboxes\/([^/]+)\/fork$/, fork],
  ["PUT", /^\/sandboxes\/([^/]+)\/network$/, updateNetwork],
  ["GET", /^\/sandboxes\/([^/]+)\/metrics$/, metrics],
  ["GET", /^(?:\/v2)?\/sandboxes\/([^/]+)\/logs$/, refused("The log of a sandbox")],
  ["GET", /^\/v2\/sandboxes$/, list],
  ["GET", /^\/sandboxes$/, listAll],
  ["GET", /^\/snapshots$/, listSnapshots],
  ["GET", /^(?:\/v2)?\/templates$/, listTemplates],
  ["GET", /^\/templates\/aliases\/([^/]+)$/, findAlias],
  ["DELETE", /^\/templates\/([^/]+)$/, deleteTemplate],
  ["GET", /^\/teams$/, teams],
  ["POST", /^(?:\/v[23])?\/templates(?:\/.*)?$/, refused(templateAdvice)],
  ["GET", /^\/templates\/.*$/, refused(templateAdvice)],
  ["PATCH", /^\/templates\/.*$/, refused(templateAdvice)],
  ["*", /^\/(?:volumes|volumecontent)(?:\/.*)?$/, refused("Volumes")],
  ["*", /^\/secrets(?:\/.*)?$/, refused("Secrets")],
  ["*", /^\/(?:api-keys|access-tokens)(?:\/.*)?$/, refused("Managing keys (they are tokens of ServiceAccounts)")],
  ["*", /^\/(?:nodes|admin|teams)\/.*$/, refused("Administration")],
];

/** E2B's control API, below a path prefix that was removed from `url`. */
export class ControlApi {
  readonly #context: ControlContext;
  readonly #accounts: Accounts;

  constructor(context: ControlContext, accounts: Accounts) {
    this.#context = context;
    this.#accounts = accounts;
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { method = "GET" } = request;
    const { pathname, searchParams: query } = url;
    if (pathname === "/health") return sendEmpty(response, 204);
    const account = await this.#accounts.authenticate(keyOf(request), request.socket.remoteAddress ?? "");
    const { handler, params } = findRoute(routes, method, pathname);
    await handler({ context: this.#context, account, request, response, query, params, signal: goneSignal(response) });
  }
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers["x-api-key"];
  if (typeof key === "string") return key;
  return /^bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
}
