import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { kill } from "../../control/kill.ts";
import { requireMachine } from "../../control/require-machine.ts";
import { findRoute, goneSignal, type Route } from "../../control/route.ts";
import { sendJson } from "../../http/reply.ts";
import type { Accounts } from "../../keys/accounts.ts";
import { asLifecycleError, notSupported } from "../failure.ts";
import { openPolicy, templatePolicy } from "../policy.ts";
import type { LifecycleCall, LifecycleContext } from "./context.ts";
import { create } from "./create.ts";
import { endpoint } from "./endpoints.ts";
import { list } from "./list.ts";
import { patchMetadata } from "./patch-metadata.ts";
import { pause, resume } from "./pause.ts";
import { renew } from "./renew.ts";
import { sandboxJson } from "./sandbox-json.ts";
import { deleteSnapshot, listSnapshots, snapshotInfo, takeSnapshot } from "./snapshots.ts";

type Handler = (call: LifecycleCall) => Promise<void>;

const refused =
  (feature: string): Handler =>
  async () => {
    throw notSupported(feature);
  };

const info: Handler = async (call) => sendJson(call.response, 200, sandboxJson(await requireMachine(call)));

const policy: Handler = async (call) => {
  const { claim } = await requireMachine(call);
  sendJson(call.response, 200, claim === undefined ? openPolicy : templatePolicy);
};

/** Counts of the clients' calls. Nothing keeps them. */
const ignored: Handler = async ({ response }) => sendJson(response, 202, {});

const routes: readonly Route<Handler>[] = [
  ["POST", /^\/v1\/sandboxes$/, create],
  ["GET", /^\/v1\/sandboxes$/, list],
  ["GET", /^\/v1\/sandboxes\/([^/]+)$/, info],
  ["DELETE", /^\/v1\/sandboxes\/([^/]+)$/, kill],
  ["POST", /^\/v1\/sandboxes\/([^/]+)\/pause$/, pause],
  ["POST", /^\/v1\/sandboxes\/([^/]+)\/resume$/, resume],
  ["POST", /^\/v1\/sandboxes\/([^/]+)\/renew-expiration$/, renew],
  ["PATCH", /^\/v1\/sandboxes\/([^/]+)\/metadata$/, patchMetadata],
  ["GET", /^\/v1\/sandboxes\/([^/]+)\/endpoints\/([^/]+)$/, endpoint],
  ["GET", /^\/v1\/sandboxes\/([^/]+)\/networkpolicy$/, policy],
  ["*", /^\/v1\/sandboxes\/([^/]+)\/networkpolicy$/, refused("A change of the network policy of one sandbox")],
  ["*", /^\/v1\/sandboxes\/([^/]+)\/diagnostics\/.*$/, refused("Diagnostics (use agent-sandbox logs and describe)")],
  ["POST", /^\/v1\/metrics\/events$/, ignored],
  ["POST", /^\/v1\/sandboxes\/([^/]+)\/snapshots$/, takeSnapshot],
  ["GET", /^\/v1\/snapshots$/, listSnapshots],
  ["GET", /^\/v1\/snapshots\/([^/]+)$/, snapshotInfo],
  ["DELETE", /^\/v1\/snapshots\/([^/]+)$/, deleteSnapshot],
  ["*", /^\/v1\/templates(?:\/.*)?$/, refused("The API for templates (create a SandboxTemplate instead)")],
];

/** OpenSandbox's lifecycle API, at `/v1`. */
export class LifecycleApi {
  readonly #context: LifecycleContext;
  readonly #accounts: Accounts;

  constructor(context: LifecycleContext, accounts: Accounts) {
    this.#context = context;
    this.#accounts = accounts;
  }

  /** Whether a path belongs to this API. */
  serves(pathname: string): boolean {
    return pathname === "/health" || pathname.startsWith("/v1/");
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    response.setHeader("x-request-id", randomUUID());
    try {
      await this.#route(request, response, url);
    } catch (error) {
      throw asLifecycleError(error);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const { pathname, searchParams: query } = url;
    if (pathname === "/health" || pathname === "/v1/health") return sendJson(response, 200, { status: "healthy" });
    const account = await this.#accounts.authenticate(keyOf(request), request.socket.remoteAddress ?? "");
    const { handler, params } = findRoute(routes, request.method ?? "GET", pathname);
    const signal = goneSignal(response);
    await handler({ context: this.#context, account, request, response, query, params, signal });
  }
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const key = headers["open-sandbox-api-key"];
  if (typeof key === "string") return key;
  return /^bearer (.+)$/i.exec(headers.authorization ?? "")?.[1];
}
