import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ExecSession, PodPlace, PodSessions, PodStreams, RouterForward, SnapshotPlace } from "@agent-sandbox/kube";
import { createWebSocketStream } from "ws";
import { ApiError, badRequest, forbidden, pathNotFound } from "../api-error.ts";
import { type ApiObject, storeKey, stringAt } from "../api-object.ts";
import type { Identity } from "../auth/identity.ts";
import type { Authorizer } from "../authorization/authorizer.ts";
import { forbiddenRequest } from "../authorization/forbidden.ts";
import { refuseUpgrade } from "../http/https-server.ts";
import type { Logger } from "../logger.ts";
import { existingPod } from "../pods/existing-pod.ts";
import type { ProvidedObjects } from "../provided/provided-objects.ts";
import { readOnly } from "../provided/provided-reply.ts";
import { routerPort } from "../provided/router-objects.ts";
import { Query } from "../request/query.ts";
import { parsePath, type ResourcePath } from "../request/request-path.ts";
import { isSubdomain } from "../resources/names.ts";
import type { Store } from "../store/store.ts";
import type { ClientStreams } from "./client-streams.ts";
import { attachOptions, execOptions, type WantedStreams } from "./command-request.ts";
import { Connections, type Upgrading } from "./connections.ts";
import { exitStatus, successStatus } from "./exit-status.ts";
import { forwardCaller } from "./forward-caller.ts";
import { type ForwardedPort, forwardPort, parsePort } from "./forward-port.ts";
import { createSnapshot, importOf, importProtocol, serveImport } from "./import-snapshot.ts";
import { joinSession } from "./join-session.ts";
import { fromNode, notOffered } from "./node-error.ts";
import { beginSession, type SessionName, sessionOf, watchClient } from "./pod-session.ts";
import { proxy, proxyUpgrade } from "./proxy.ts";
import { type ProxyTarget, proxyTarget } from "./proxy-target.ts";
import { proxyView } from "./proxy-view.ts";
import { SpdyPortForward } from "./spdy-port-forward.ts";
import { spdyStreams } from "./spdy-streams.ts";
import { type Accepted, negotiate, type Wire } from "./upgrade.ts";
import { webSocketPortForward } from "./web-socket-port-forward.ts";
import { webSocketStreams } from "./web-socket-streams.ts";

const commandProtocols: Accepted = {
  webSocket: ["v5.channel.k8s.io", "v4.channel.k8s.io"],
  spdy: ["v4.channel.k8s.io"],
};
const forwardProtocols: Accepted = {
  webSocket: ["SPDY/3.1+portforward.k8s.io", "v4.channel.k8s.io"],
  spdy: ["portforward.k8s.io"],
};
/** Each port takes two of the 255 channels of a WebSocket. */
const maxPorts = 100;

export interface StreamEndpointOptions {
  readonly store: Store;
  readonly podStreams: PodStreams | undefined;
  readonly podSessions: PodSessions | undefined;
  readonly routerForward: RouterForward | undefined;
  readonly provided: ProvidedObjects | undefined;
  readonly authorizer: Pick<Authorizer, "decide">;
  readonly logger: Logger;
}

/** An authorized upgrade request. */
export interface StreamUpgrade {
  readonly head: Buffer;
  /** Authenticates and authorizes the client again. Throws when it may no longer have the session. */
  readonly identify: () => Identity;
}

/** An upgrade request to a Pod. */
interface Call {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
  readonly identify: StreamUpgrade["identify"];
  readonly place: PodPlace;
  readonly pod: ApiObject | undefined;
  readonly query: Query;
}

/**
 * Serves `pods/{name}/exec`, `attach` and `portforward` over SPDY or WebSocket, and proxies `pods/{name}/proxy` and
 * `services/{name}/proxy`.
 */
export class StreamEndpoint {
  readonly #options: StreamEndpointOptions;
  readonly #connections = new Connections();

  constructor(options: StreamEndpointOptions) {
    this.#options = options;
  }

  upgrade(request: IncomingMessage, socket: Socket, upgrade: StreamUpgrade): void {
    this.#open(request, socket, upgrade).catch((error: unknown) => {
      if (error instanceof ApiError) return refuseUpgrade(socket, error);
      this.#options.logger.error({ err: error }, "stream failed");
      if (!socket.destroyed)
        refuseUpgrade(socket, new ApiError("InternalError", "Internal error occurred: see the server's log"));
    });
  }

  /** Returns the handler that proxies a request. Throws `MethodNotAllowed` if its path is not a proxy path. */
  proxyHandler(request: IncomingMessage): (response: ServerResponse) => Promise<void> {
    const [path = "/"] = (request.url ?? "/").split("?", 1);
    const parsed = parsePath(path);
    const named = parsed?.kind === "resource" ? sessionOf(parsed) : undefined;
    if (named === undefined) {
      throw new ApiError(
        "MethodNotAllowed",
        "Cannot proxy to anything but Pods and Services: use kubectl port-forward",
      );
    }
    if (this.#provided(named) !== undefined) throw refused(named);
    return (response) => this.#proxy(parsed as ResourcePath, request, response);
  }

  /** Ends every session. */
  close(): void {
    this.#connections.close();
  }

  async #open(request: IncomingMessage, socket: Socket, { head, identify }: StreamUpgrade): Promise<void> {
    const [path = "/", query = ""] = (request.url ?? "/").split("?", 2);
    const parsed = parsePath(path);
    if (parsed?.kind !== "resource") throw pathNotFound();
    const imported = importOf(parsed);
    if (imported !== undefined) return await this.#import({ request, socket, head }, imported, identify());
    const session = sessionOf(parsed);
    if (session === undefined) throw pathNotFound();
    const provided = this.#provided(session);
    const { namespace, name } = session;
    const known = { request, socket, head, identify, place: { namespace, pod: name }, query: new Query(query) };
    if (provided !== undefined) {
      if (parsed.subresource !== "portforward") throw refused(session);
      return await this.#portForward({ ...known, pod: provided }, () => this.#routerDial(known));
    }
    using sessions = new DisposableStack();
    if (parsed.subresource === "proxy") {
      const target = await this.#whileConnected(socket, (signal) => this.#proxyTarget(parsed, signal, sessions));
      return await proxyUpgrade({ request, target, podStreams: this.#options.podStreams }, socket, head);
    }
    sessions.use(await this.#whileConnected(socket, (signal) => beginSession(this.#options, session, signal)));
    const pod = this.#options.store.get("pods", storeKey(namespace, name))?.object;
    await this.#serveCommand({ ...known, pod }, parsed.subresource);
  }

  /** The user may use the subresource, and must be allowed to create the snapshot too. */
  async #import(upgrading: Upgrading, place: SnapshotPlace, identity: Identity): Promise<void> {
    const wanted = createSnapshot(place.namespace);
    const { allowed, reason } = this.#options.authorizer.decide(identity, wanted);
    if (!allowed) throw forbiddenRequest(identity, wanted, reason);
    if (!isSubdomain(place.name)) throw badRequest(`"${place.name}" is not a valid name of a SandboxSnapshot`);
    const { protocol } = negotiate(upgrading.request.headers, { webSocket: [importProtocol], spdy: [] });
    const { snapshots } = this.#node();
    if (snapshots === undefined) throw notOffered("archives of snapshots");
    this.#connections.checkRoom();
    const client = await this.#connections.webSocket(upgrading, protocol).catch(() => undefined);
    if (client !== undefined) await serveImport(client, snapshots, place);
  }

  #serveCommand(call: Call, subresource: string | undefined): Promise<void> {
    switch (subresource) {
      case "exec":
        return this.#exec(call);
      case "attach":
        return this.#attach(call);
      case "portforward":
        return this.#portForward(call, () => this.#nodeDial(call));
      default:
        throw pathNotFound();
    }
  }

  async #proxy(path: ResourcePath, request: IncomingMessage, response: ServerResponse): Promise<void> {
    using sessions = new DisposableStack();
    const gone = new AbortController();
    response.once("close", () => gone.abort(new Error("the client is gone")));
    const target = await this.#proxyTarget(path, gone.signal, sessions);
    await proxy({ request, target, podStreams: this.#options.podStreams }, response);
  }

  /** The Pod that a request is proxied to, once it can be used. A Service wakes its Sandbox, and then its Pod is used. */
  async #proxyTarget(path: ResourcePath, signal: AbortSignal, sessions: DisposableStack): Promise<ProxyTarget> {
    const named = sessionOf(path);
    if (named === undefined) throw pathNotFound();
    sessions.use(await beginSession(this.#options, named, signal));
    const target = proxyTarget(path, proxyView(this.#options.store));
    if (target === undefined) throw pathNotFound();
    if (named.resource === "pods") return target;
    const pod = { resource: "pods", namespace: target.namespace, name: target.pod } as const;
    sessions.use(await beginSession(this.#options, pod, signal));
    return target;
  }

  /** Ends the wait when the client closes its connection. */
  async #whileConnected<T>(socket: Socket, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using client = watchClient(socket);
    return await wait(client.signal);
  }

  async #exec(call: Call): Promise<void> {
    const { stdout, stderr, ...request } = execOptions(call.place, call.query, call.pod);
    const wire = negotiate(call.request.headers, commandProtocols);
    const node = this.#node();
    const start = (): Promise<ExecSession> => node.exec(request);
    const client = await this.#serve(call, { wire, start, wanted: { ...request, stdout, stderr } });
    if (client !== undefined) await joinSession(client.streams, client.session, exitStatus);
  }

  async #attach(call: Call): Promise<void> {
    const { stdout, stderr, ...request } = attachOptions(call.place, call.query, call.pod);
    const wire = negotiate(call.request.headers, commandProtocols);
    const node = this.#node();
    if (node.attach === undefined) throw notOffered("attach");
    const start = (): Promise<ExecSession> => (node.attach as NonNullable<PodStreams["attach"]>)(request);
    const client = await this.#serve(call, { wire, start, wanted: { ...request, stdout, stderr } });
    // The exit code of the container is in the Pod's status. Here success means that the output ended.
    if (client !== undefined) await joinSession(client.streams, client.session, successStatus);
  }

  /** Starts the session before the upgrade, so that a failure can be answered with an ordinary error. */
  async #serve(
    call: Call,
    { wire, start, wanted }: { wire: Wire; start: () => Promise<ExecSession>; wanted: WantedStreams },
  ): Promise<{ streams: ClientStreams; session: ExecSession } | undefined> {
    this.#connections.checkRoom();
    const session = await start().catch((error: unknown) => Promise.reject(fromNode(error)));
    const streams = await this.#streamsOver(wire, call, wanted).catch(() => undefined);
    if (streams !== undefined) return { streams, session };
    session.kill();
    return undefined;
  }

  async #streamsOver(wire: Wire, call: Call, wanted: WantedStreams): Promise<ClientStreams | undefined> {
    if (wire.kind === "spdy") return spdyStreams(this.#connections.spdy(call, wire.protocol), wanted);
    const socket = await this.#connections.webSocket(call, wire.protocol);
    return webSocketStreams(socket, wanted);
  }

  /** Connects to a port of a Pod on the node. */
  #nodeDial({ place }: Pick<Call, "place">): Dial {
    const node = this.#node();
    const dial = node.portForward?.bind(node);
    if (dial === undefined) throw notOffered("port-forward");
    return (port) => dial({ ...place, port });
  }

  /** Connects to the router with the identity of the client. */
  #routerDial({ request, identify }: Pick<Call, "request" | "identify">): Dial {
    const caller = forwardCaller(request.socket.remoteAddress, identify);
    return async (port) => {
      if (port !== routerPort) throw new Error(`the router has no port but ${routerPort}`);
      return await (this.#options.routerForward as RouterForward).connect(caller);
    };
  }

  #provided({ resource, namespace, name }: SessionName): ApiObject | undefined {
    return this.#options.provided?.find({ group: "", resource, namespace, name });
  }

  async #portForward(call: Call, dialer: () => Dial): Promise<void> {
    const { place, query, request } = call;
    const pod = existingPod(call.pod, place.pod);
    const wire = negotiate(request.headers, forwardProtocols);
    const ports = wire.kind === "web-socket" ? portsOf(query) : [];
    const phase = stringAt(pod, "status", "phase");
    if (phase !== "Running")
      throw badRequest(`unable to forward port because pod is not running. Current status=${phase ?? "Pending"}`);
    const dial = dialer();
    this.#connections.checkRoom();
    const join = (forwarded: ForwardedPort): Promise<void> => forwardPort(forwarded, dial);
    if (wire.kind === "spdy") {
      const { connection } = new SpdyPortForward(this.#connections.spdy(call, wire.protocol), (one) => void join(one));
      return connection.closed;
    }
    const socket = await this.#connections.webSocket(call, wire.protocol).catch(() => undefined);
    if (socket === undefined) return;
    if (wire.kind === "web-socket") return webSocketPortForward(socket, ports, join);
    const { connection } = new SpdyPortForward(createWebSocketStream(socket), (one) => void join(one));
    return connection.closed;
  }

  #node(): PodStreams {
    const { podStreams } = this.#options;
    if (podStreams === undefined) throw new ApiError("ServiceUnavailable", "the server has no node to run commands on");
    return podStreams;
  }
}

/** Connects to a port. The message of an error is shown to the client. */
type Dial = (port: number) => Promise<Duplex>;

const refused = ({ resource, name }: SessionName): ApiError =>
  forbidden({ group: "", plural: resource, name }, readOnly);

function portsOf(query: Query): number[] {
  const given = query.all("ports").flatMap((each) => each.split(","));
  const ports = given.map(parsePort).filter((port) => port !== undefined);
  if (ports.length === 0 || ports.length < given.length || ports.length > maxPorts)
    throw badRequest(`the query parameter "ports" must name 1 to ${maxPorts} ports`);
  return ports;
}
