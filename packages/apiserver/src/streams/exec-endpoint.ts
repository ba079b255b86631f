import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import type { ExecSession, PodStreams } from "@agent-sandbox/kube";
import { WebSocketServer } from "ws";
import { ApiError, type ApiReason, badRequest, pathNotFound } from "../api-error.ts";
import { storeKey } from "../api-object.ts";
import { refuseUpgrade } from "../http/https-server.ts";
import type { Logger } from "../logger.ts";
import { Query } from "../request/query.ts";
import { parsePath } from "../request/request-path.ts";
import type { Store } from "../store/store.ts";
import { type ExecOptions, execOptions } from "./exec-request.ts";
import { runSession } from "./web-socket-session.ts";

const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
/** Far above what kubectl sends in one message, which is 32 KiB. */
const maxMessageBytes = 4 * 1024 * 1024;
const maxSessions = 1000;

export interface ExecEndpointOptions {
  readonly store: Store;
  readonly podStreams: PodStreams | undefined;
  readonly logger: Logger;
}

/** `pods/{name}/exec`: runs commands in containers for clients that switch to WebSocket. */
export class ExecEndpoint {
  readonly #options: ExecEndpointOptions;
  readonly #sockets: WebSocketServer = new WebSocketServer({
    noServer: true,
    clientTracking: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => protocols.find((each) => offered.has(each)) ?? false,
  });

  constructor(options: ExecEndpointOptions) {
    this.#options = options;
  }

  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    this.#open(request, socket, head).catch((error: unknown) => {
      if (error instanceof ApiError) return refuseUpgrade(socket, error);
      this.#options.logger.error({ err: error }, "exec failed");
      refuseUpgrade(socket, new ApiError("InternalError", "Internal error occurred: see the server's log"));
    });
  }

  /** Ends every session. */
  close(): void {
    for (const client of this.#sockets.clients) client.close(1001, "the server is shutting down");
  }

  async #open(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const options = this.#check(request);
    const session = await this.#start(options);
    if (socket.destroyed) return session.kill();
    // The client may go, or the handshake may be refused, without a WebSocket ever coming to be.
    const abandon = (): void => session.kill();
    socket.once("close", abandon);
    this.#sockets.handleUpgrade(request, socket, head, (webSocket) => {
      socket.off("close", abandon);
      void runSession(webSocket, session, options);
    });
  }

  #check(request: IncomingMessage): ExecOptions {
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    const parsed = parsePath(path);
    const isExec =
      parsed?.kind === "resource" &&
      parsed.apiVersion === "v1" &&
      parsed.plural === "pods" &&
      parsed.subresource === "exec";
    if (!isExec || parsed.namespace === undefined || parsed.name === undefined) throw pathNotFound();
    const { namespace, name: pod } = parsed;
    const stored = this.#options.store.get("pods", storeKey(namespace, pod));
    const options = execOptions({ namespace, pod }, new Query(query), stored?.object);
    checkProtocol(request);
    if (this.#sockets.clients.size >= maxSessions) {
      throw new ApiError("TooManyRequests", `${maxSessions} exec sessions are open`, {
        details: { retryAfterSeconds: 1 },
      });
    }
    return options;
  }

  async #start({ stdout: _stdout, stderr: _stderr, ...request }: ExecOptions): Promise<ExecSession> {
    const { podStreams } = this.#options;
    if (podStreams === undefined) throw new ApiError("ServiceUnavailable", "the server has no node to run commands on");
    try {
      return await podStreams.exec(request);
    } catch (error) {
      throw asApiError(error);
    }
  }
}

function checkProtocol(request: IncomingMessage): void {
  const upgrade = (request.headers.upgrade ?? "").toLowerCase();
  if (upgrade !== "websocket") {
    throw badRequest(
      `unable to upgrade: the server speaks WebSocket here, not "${upgrade}"; use kubectl 1.30 or newer`,
    );
  }
  const offered = (request.headers["sec-websocket-protocol"] ?? "").split(",").map((each) => each.trim());
  if (!protocols.some((each) => offered.includes(each))) {
    throw badRequest(
      `unable to upgrade: none of the subprotocols is supported; the server speaks ${protocols.join(", ")}`,
    );
  }
}

const passedOn: readonly string[] = [
  "BadRequest",
  "NotFound",
  "Conflict",
  "TooManyRequests",
  "ServiceUnavailable",
] satisfies ApiReason[];

/** The node's errors carry a Kubernetes reason; whatever else happened is an internal error. */
function asApiError(error: unknown): ApiError {
  const { reason, message } = error as { reason?: unknown; message?: unknown };
  const known = passedOn.find((each) => each === reason) as ApiReason | undefined;
  return new ApiError(known ?? "InternalError", `unable to upgrade connection: ${String(message)}`, { cause: error });
}
