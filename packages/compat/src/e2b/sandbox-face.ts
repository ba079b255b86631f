import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { badRequest, HttpError, unauthorized } from "../http/http-error.ts";
import type { TokenScope } from "../ports.ts";
import { openPort, proxy, proxyUpgrade } from "../runtime/proxy.ts";
import { RouterRefusal } from "../runtime/router-refusal.ts";
import type { Target } from "../runtime/runtime.ts";
import { serveCode } from "./code/code-api.ts";
import type { EnvdCall, EnvdContext } from "./envd/context.ts";
import { serveEnvd } from "./envd/envd-api.ts";
import { type Operation, type SignedLink, signedLinkOf } from "./envd/signed-link.ts";
import { findSigner } from "./find-signer.ts";
import { sendGone, sendRefusal } from "./sandbox-answers.ts";
import type { SandboxHost } from "./sandbox-host.ts";
import { codePort, envdPort } from "./version.ts";

/** The sandbox that a request names. Without a namespace it is that of the token. */
export type Named = Omit<SandboxHost, "namespace"> & { readonly namespace: string | undefined };

const upgradeMs = 10_000;

/** The traffic of E2B's clients to their sandboxes: the daemon, the code interpreter and the ports of users. */
export class SandboxFace {
  readonly #context: EnvdContext;

  constructor(context: EnvdContext) {
    this.#context = context;
  }

  async serve(request: IncomingMessage, response: ServerResponse, url: URL, named: Named): Promise<void> {
    const { port } = named;
    const call = this.#open(request, response, url, named);
    if (call === undefined) return sendGone(response, named.name);
    try {
      if (port === envdPort) await serveEnvd(call);
      else if (port === codePort) await serveCode(call);
      else await proxy(call, port);
    } catch (error) {
      if (error instanceof RouterRefusal) sendRefusal(response, named, error);
      else throw error;
    }
  }

  /** Serves a link to a file, without headers that name a sandbox. */
  async serveLink(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const link = linkOf(request, url);
    const target = link && findSigner(this.#context, link, undefined);
    if (target === undefined) throw unauthorized("invalid signature");
    try {
      await serveEnvd(this.#callTo(target, request, response, url));
    } catch (error) {
      if (!(error instanceof RouterRefusal)) throw error;
      sendRefusal(response, { name: target.name, port: envdPort }, error);
    }
  }

  /** WebSockets and other upgrades, to the ports of users. */
  async serveUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, named: Named): Promise<void> {
    const target = this.#authorize(request, undefined, named);
    if (target === undefined) throw new HttpError(502, "The sandbox was not found");
    await openPort({ context: this.#context, target, signal: AbortSignal.timeout(upgradeMs) }, named.port);
    proxyUpgrade({ runtime: this.#context.runtime, target, request, socket, head }, named.port);
  }

  /** Undefined if the sandbox of the token does not exist any more. */
  #open(request: IncomingMessage, response: ServerResponse, url: URL, named: Named): EnvdCall | undefined {
    const target = this.#authorize(request, url, named);
    return target && this.#callTo(target, request, response, url);
  }

  #callTo(target: Target, request: IncomingMessage, response: ServerResponse, url: URL): EnvdCall {
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    return { context: this.#context, target, request, response, url, signal: gone.signal };
  }

  #authorize(request: IncomingMessage, url: URL | undefined, named: Named): Target | undefined {
    const { name, namespace, port } = named;
    const link = url === undefined || port !== envdPort ? undefined : linkOf(request, url);
    if (link !== undefined) {
      const signer = findSigner(this.#context, link, { name, namespace });
      if (signer === undefined) throw unauthorized("invalid signature");
      return signer;
    }
    const token = tokenOf(request, port);
    const scope = this.#context.tokens.verify(token ?? "");
    if (token === undefined || scope === undefined || !covers(scope, named)) throw refusal(token, port);
    const machine = this.#context.directory.machine(scope.namespace, name);
    const sandbox = machine?.sandbox;
    if (sandbox?.metadata.uid !== scope.uid) return undefined;
    // The router checks it too, but not what is answered here.
    if (this.#context.tokens.isRevoked(token, sandbox)) throw refusal(token, port);
    return { namespace: scope.namespace, name, uid: scope.uid, token };
  }
}

/** The daemon's own header takes precedence over a signature. */
function linkOf(request: IncomingMessage, url: URL): SignedLink | undefined {
  if (url.pathname !== "/files" || request.headers["x-access-token"] !== undefined) return undefined;
  const operation: Operation = request.method === "POST" ? "write" : "read";
  return signedLinkOf(url.searchParams, operation);
}

const trafficHeader = "e2b-traffic-access-token";

function tokenOf({ headers }: IncomingMessage, port: number): string | undefined {
  const isOwn = port === envdPort || port === codePort;
  const token = (isOwn ? headers["x-access-token"] : undefined) ?? headers[trafficHeader];
  return typeof token === "string" ? token : undefined;
}

function covers(scope: TokenScope, { name, namespace, port }: Named): boolean {
  const isSame = scope.name === name && (namespace === undefined || namespace === scope.namespace);
  return isSame && (scope.ports === undefined || scope.ports.includes(port));
}

function refusal(token: string | undefined, port: number): HttpError {
  if (port === envdPort)
    return unauthorized(token === undefined ? "X-Access-Token is required" : "invalid access token");
  const problem = token === undefined ? "is missing" : "is not valid for this sandbox";
  return new HttpError(403, `The header E2B-Traffic-Access-Token ${problem}`);
}

/** The headers that name a sandbox on an address that all share. Undefined without them. */
export function namedByHeaders({ headers }: IncomingMessage): Named | undefined {
  const name = headers["e2b-sandbox-id"];
  if (typeof name !== "string") return undefined;
  const text = headers["e2b-sandbox-port"] ?? String(envdPort);
  const port = typeof text === "string" && /^[1-9]\d{0,4}$/.test(text) ? Number(text) : 0;
  if (port < 1 || port > 65_535) throw badRequest("E2b-Sandbox-Port is not a port");
  return { name, port, namespace: undefined };
}
