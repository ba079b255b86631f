import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import type { Sandbox } from "@agent-sandbox/api";
import { goneSignal } from "../control/route.ts";
import { openPort, proxy, proxyUpgrade } from "../runtime/proxy.ts";
import type { Target } from "../runtime/runtime.ts";
import { type EndpointPath, endpointPath } from "./endpoint-path.ts";
import type { ExecdCall, ExecdContext } from "./execd/context.ts";
import { serveExecd } from "./execd/execd-api.ts";
import { asExecdError } from "./execd/execd-error.ts";
import { OpenSandboxError } from "./failure.ts";
import { serveEgress } from "./policy.ts";
import { daemonTarget, egressPort, execdPort } from "./ports.ts";
import { sharedHostHeaders } from "./shared-host-headers.ts";
import { signerOf } from "./signed-endpoint.ts";

const upgradeMs = 10_000;

/** The traffic of OpenSandbox's clients to the endpoints of their sandboxes: the daemon, its egress proxy and the ports of users. */
export class EndpointFace {
  readonly #context: ExecdContext;

  constructor(context: ExecdContext) {
    this.#context = context;
  }

  /** `search` is the query of the request, with its question mark. */
  async serve(request: IncomingMessage, response: ServerResponse, path: EndpointPath, search: string): Promise<void> {
    try {
      const { target, sandbox } = this.#authorize(request, path);
      const url = new URL(`http://sandbox${path.rest}${search}`);
      const call = { context: this.#context, target, request, response, url, signal: goneSignal(response) };
      if (path.port === execdPort) await serveExecd(call);
      else if (path.port === egressPort) serveEgress(call);
      else await this.#relay(call, sandbox, path);
    } catch (error) {
      throw asExecdError(error);
    }
  }

  /** WebSockets and other upgrades, to the ports of users. */
  async serveUpgrade(
    request: IncomingMessage,
    socket: Duplex,
    head: Buffer,
    { path, search }: { readonly path: EndpointPath; readonly search: string },
  ): Promise<void> {
    const { target, sandbox } = this.#authorize(request, path);
    const context = this.#context;
    const daemon = daemonTarget(context.tokens, sandbox, target);
    await openPort({ context, target: daemon, signal: AbortSignal.timeout(upgradeMs) }, path.port);
    proxyUpgrade({ runtime: context.runtime, target, request, socket, head, path: path.rest + search }, path.port);
  }

  async #relay(call: ExecdCall, sandbox: Sandbox, path: EndpointPath): Promise<void> {
    await proxy(call, path.port, {
      path: path.rest + call.url.search,
      daemon: daemonTarget(call.context.tokens, sandbox, call.target),
      relay: (headers) => sharedHostHeaders(headers, endpointPath(path)),
    });
  }

  #authorize(request: IncomingMessage, path: EndpointPath): { readonly target: Target; readonly sandbox: Sandbox } {
    const { namespace, name } = path;
    const sandbox = this.#context.directory.machine(namespace, name)?.sandbox;
    const token =
      path.link === undefined ? this.#tokenOf(request, path, sandbox) : this.#signerOf(path, path.link, sandbox);
    if (sandbox === undefined) throw gone(name);
    return { target: { namespace, name, uid: sandbox.metadata.uid ?? "", token }, sandbox };
  }

  #tokenOf({ headers }: IncomingMessage, path: EndpointPath, sandbox: Sandbox | undefined): string {
    const { tokens } = this.#context;
    const token = headers["x-execd-access-token"];
    if (typeof token !== "string") throw unauthorized("X-EXECD-ACCESS-TOKEN is required");
    const scope = tokens.verify(token);
    const { namespace, name, port } = path;
    const isFor = scope !== undefined && scope.namespace === namespace && scope.name === name;
    if (!isFor || scope.ports?.includes(port) === false) throw unauthorized("X-EXECD-ACCESS-TOKEN is not valid here");
    if (sandbox?.metadata.uid !== scope.uid) throw gone(name);
    // The router checks it too, but not what is answered here.
    if (tokens.isRevoked(token, sandbox)) throw unauthorized("X-EXECD-ACCESS-TOKEN was revoked");
    return token;
  }

  #signerOf(
    { namespace, name, port }: EndpointPath,
    { expires, signature }: NonNullable<EndpointPath["link"]>,
    sandbox: Sandbox | undefined,
  ): string {
    const grant = { namespace, name, port, expires };
    const token = sandbox && signerOf(this.#context.tokens, sandbox, grant, signature);
    if (token === undefined) throw unauthorized("The address is not valid");
    if (expires * 1000 <= Date.now()) throw unauthorized("The address has expired");
    return token;
  }
}

const unauthorized = (message: string): OpenSandboxError => new OpenSandboxError(401, "SANDBOX::UNAUTHORIZED", message);

/** Only told to those whose token was once valid. */
const gone = (name: string): OpenSandboxError =>
  new OpenSandboxError(404, "KUBERNETES::SANDBOX_NOT_FOUND", `Sandbox ${name} not found`);
