import type { Sandbox } from "@agent-sandbox/api";
import { keyOf } from "@agent-sandbox/kube";
import type { ActivityTracker } from "../activity/activity-tracker.ts";
import type { Authorizer, Credentials } from "../auth/authorizer.ts";
import { bearerToken, type Caller, type VerifiedCertificate } from "../auth/caller.ts";
import { certificateMayCount, cookieMayCount } from "../auth/page-request.ts";
import type { Directory } from "../cluster/directory.ts";
import { findSandbox } from "../cluster/resolve.ts";
import type { Target } from "../cluster/target.ts";
import type { Metrics } from "../observe/metrics.ts";
import { clip, requestIdOf, type Visit } from "../observe/visit.ts";
import { findRoute, type RouteOptions } from "../route/find-route.ts";
import { splitAuthority, splitTarget } from "../route/request-target.ts";
import { parsePort, type Route, routeErrors } from "../route/route.ts";
import { RouterError } from "../router-error.ts";
import { readAheadBytes } from "../wake/waiting-room.ts";
import type { Cancellation } from "./cancellation.ts";
import type { ConnectionPlaces } from "./connection-places.ts";
import type { LimitedUse } from "./limits.ts";
import { Misdirected, misdirectedStatus } from "./misdirected.ts";
import type { Pathfinder, Reached, ReachOptions } from "./pathfinder.ts";
import type { Check, Rechecks } from "./rechecks.ts";
import { type RequestHead, readHead } from "./request-head.ts";
import { isRuntimePort, needsRuntimeToken, type RuntimeTokens } from "./runtime-tokens.ts";

/** A request before anything is known about it. */
export interface Knock {
  readonly method: string;
  readonly url: string;
  readonly rawHeaders: readonly string[];
  readonly connection: string;
  readonly peer: string;
  readonly isSecure: boolean;
  readonly certificate: VerifiedCertificate | undefined;
  readonly isUpgrade: boolean;
  /** RFC 9112, 3.2: from this version on a request without a Host is none. */
  readonly needsHost: boolean;
}

/** A request that could be read. `route` is absent when it names no sandbox. */
export interface Reading {
  readonly knock: Knock;
  readonly head: RequestHead;
  readonly host: string | undefined;
  readonly target: string;
  readonly route: Route | undefined;
  /** The credential for a proxy, when the caller takes the router for one: with CONNECT, or a whole URL as the target. */
  readonly proxyAuthorization: string | undefined;
}

/** A request that may pass, with its place taken. */
export interface Guest extends Disposable {
  readonly reading: Reading;
  readonly route: Route;
  /** The Sandbox the caller was found to be allowed to reach. */
  readonly sandboxUid: string | undefined;
}

export interface Verdict {
  readonly caller: Caller;
  /** Absent when there is none of that name. */
  readonly sandbox: Sandbox | undefined;
}

export type ConnectOptions<T> = Pick<ReachOptions<T>, "cancellation" | "open">;

export interface FrontDoorOptions {
  readonly routes: RouteOptions;
  readonly directory: Directory;
  readonly authorizer: Authorizer;
  readonly limits: LimitedUse;
  readonly pathfinder: Pathfinder;
  readonly activity: ActivityTracker;
  readonly runtimeTokens: RuntimeTokens;
  readonly rechecks: Rechecks;
  readonly places: ConnectionPlaces;
  readonly metrics: Metrics;
}

/** Reads, authorises and admits requests, whatever protocol they came by, and finds them a way to their sandbox. */
export class FrontDoor {
  readonly #options: FrontDoorOptions;

  constructor(options: FrontDoorOptions) {
    this.#options = options;
  }

  read(knock: Knock, visit: Visit): Reading {
    const head = readInto(visit, knock);
    const split = splitTarget(knock.url);
    if (split === undefined) throw new RouterError("InvalidRequest", "Invalid request target.");
    const { target, authority } = split;
    const host = authority ?? head.host;
    if (knock.needsHost && head.host === undefined) throw new RouterError("InvalidRequest", "Host header is required.");
    const found = findRoute({ host, target, headers: head.route }, this.#options.routes);
    if ("error" in found) throw new RouterError("InvalidRequest", found.error);
    const proxyAuthorization = authority === undefined ? undefined : head.proxyAuthorization;
    return { knock, head, host, target, route: "route" in found ? found.route : undefined, proxyAuthorization };
  }

  /** `CONNECT host:port`: the host names the sandbox unless the headers do. */
  readTunnel(knock: Knock, visit: Visit): Reading & { readonly route: Route } {
    const head = readInto(visit, knock);
    const authority = splitAuthority(knock.url);
    const port = parsePort(authority?.port ?? "");
    if (authority === undefined || port === undefined) throw new RouterError("InvalidRequest", routeErrors.port);
    const byHeader = head.route.id !== undefined;
    const headers = byHeader ? { ...head.route, port: head.route.port ?? authority.port } : {};
    const host = byHeader ? undefined : authority.host;
    const found = findRoute({ host, target: "/", headers }, this.#options.routes);
    if ("error" in found) throw new RouterError("InvalidRequest", found.error);
    if ("none" in found) throw new RouterError("InvalidRequest", routeErrors.missingId);
    const route = byHeader ? found.route : { ...found.route, port };
    const { proxyAuthorization } = head;
    return { knock, head, host: authority.host, target: "/", route, proxyAuthorization };
  }

  /** Who asks, if they may; at once when nobody has to be asked. Throws the refusal. */
  authorize(reading: Reading, route: Route, visit: Visit): Verdict | Promise<Verdict> {
    const { directory, authorizer, metrics } = this.#options;
    if (!directory.hasSynced) {
      throw new RouterError("NotSynced", "The router does not know the sandboxes yet.", { retryAfterSeconds: 1 });
    }
    const sandbox = this.#sandboxOf(route);
    visit.by = route.by;
    visit.sandbox = route.name;
    if (sandbox !== undefined) visit.namespace = route.namespace;
    const allow = (caller: Caller): Verdict => {
      metrics.decided(visit.namespace, "allow");
      return { caller, sandbox };
    };
    const deny = (error: unknown): never => {
      metrics.decided(visit.namespace, "deny");
      throw error;
    };
    try {
      const caller = authorizer.authorize({ credentials: credentialsOf(reading, route), route, sandbox });
      return caller instanceof Promise ? caller.then(allow, deny) : allow(caller);
    } catch (error) {
      return deny(error);
    }
  }

  #sandboxOf(route: Route): Sandbox | undefined {
    const ready = this.#options.pathfinder.ready(route);
    const found = ready === undefined ? findSandbox(route, this.#options.directory) : ready.sandbox;
    return found === "pending" ? undefined : found;
  }

  /** Lets a request in, or throws the answer. */
  admit(reading: Reading, route: Route, visit: Visit): Guest | Promise<Guest> {
    const verdict = this.authorize(reading, route, visit);
    const enter = ({ caller, sandbox }: Verdict): Guest => {
      const sandboxUid = sandbox?.metadata.uid;
      // What has no Sandbox yet is counted under its name.
      const key = sandboxUid ?? keyOf(route);
      const { isUpgrade: isLong } = reading.knock;
      const place = this.#options.limits.enter({ namespace: route.namespace, sandbox: key, caller: caller.id, isLong });
      const line = this.#options.places.begin(reading.knock.connection);
      const leave = (): void => {
        place[Symbol.dispose]();
        line[Symbol.dispose]();
      };
      return { reading, route, sandboxUid, [Symbol.dispose]: leave };
    };
    return verdict instanceof Promise ? verdict.then(enter) : enter(verdict);
  }

  /** Cancels the request when its caller loses the right to reach the sandbox, until disposed. */
  guard({ reading, route }: Guest, cancellation: Cancellation): Disposable {
    const { authorizer, rechecks } = this.#options;
    const check: Check = () =>
      authorizer.authorize({ credentials: credentialsOf(reading, route), route, sandbox: this.#sandboxOf(route) });
    return rechecks.watch(check, cancellation);
  }

  /** Where the request goes, if that needs no waiting. */
  ready({ route, sandboxUid }: Guest): Target | undefined {
    const target = this.#options.pathfinder.ready(route);
    return target?.sandbox.metadata.uid === sandboxUid ? target : undefined;
  }

  /** Waits for the sandbox and has `open` make a connection to it, again if need be. */
  connect<T>(guest: Guest, visit: Visit, options: ConnectOptions<T>): Promise<Reached<T>> {
    const { reading, route, sandboxUid } = guest;
    return this.#options.pathfinder.reach(route, {
      visit,
      ...options,
      heldBytes: heldBytes(reading),
      check: (sandbox) => (sandbox.metadata.uid === sandboxUid ? undefined : this.authorize(reading, route, visit)),
    });
  }

  /** The same for a connection that needs no admission: whoever opened its listener answers for it. */
  async connectTrusted<T>(route: Route, visit: Visit, options: ConnectOptions<T>): Promise<Reached<T>> {
    visit.sandbox = route.name;
    const reached = await this.#options.pathfinder.reach(route, { visit, ...options, heldBytes: readAheadBytes });
    visit.namespace = route.namespace;
    return reached;
  }

  /** The sandbox is in use until disposed. */
  using(target: Target): Disposable {
    return this.#options.activity.begin(target.sandbox);
  }

  /** The headers for the sandbox: the caller's own, and what the router knows for certain. */
  headersFor(reading: Reading, target: Target, requestId: string): string[] | Promise<string[]> {
    const { head, host, knock, proxyAuthorization } = reading;
    const isForRuntime = needsRuntimeToken(target.sandbox, target.port);
    // What goes to a runtime may have to be sent a second time.
    const headers = isForRuntime ? [...head.pass] : head.pass;
    headers.push("x-forwarded-for", knock.peer, "x-forwarded-proto", knock.isSecure ? "https" : "http");
    if (host !== undefined) headers.push("x-forwarded-host", host);
    // To a runtime it says that the caller may come back for the result: only the caller can promise that.
    if (head.requestId === undefined && !isRuntimePort(target.port)) headers.push("x-request-id", requestId);
    // Who gives the router a credential of its own means the other one for the sandbox.
    const isKept = (head.ownAuthorization ?? proxyAuthorization) !== undefined || head.forwardAuthorization;
    if (isKept && head.authorization !== undefined) headers.push("authorization", head.authorization);
    if (!isForRuntime) return headers;
    return this.#options.runtimeTokens.headersFor(target.sandbox).then((own) => [...headers, ...own]);
  }

  /**
   * Looks at an answer before the caller hears of it: the runtime inside may not have taken the router's token. Throws
   * `Misdirected` when it is another sandbox's.
   */
  answered(target: Target, status: number): void {
    if (status !== 401 && status !== misdirectedStatus) return;
    if (!needsRuntimeToken(target.sandbox, target.port)) return;
    if (status === misdirectedStatus) throw new Misdirected(target);
    this.#options.runtimeTokens.forget(target.sandbox);
  }
}

function credentialsOf({ head, host = "", knock, proxyAuthorization }: Reading, route: Route): Credentials {
  const { method, isSecure, isUpgrade, peer, certificate } = knock;
  const { origin, fetchSite, fetchMode, fetchDest } = head;
  // One that is the router's alone counts alone: the other may be on its way to the sandbox.
  const bearer = bearerToken(head.ownAuthorization ?? proxyAuthorization ?? head.authorization);
  if (head.sessions.length === 0 && certificate === undefined)
    return { bearer, sessions: noSessions, certificate, peer };
  const isOwnHost = route.by === "host";
  const said = { method, origin, fetchSite, fetchMode, fetchDest, isSecure, isUpgrade, isOwnHost };
  const page = { ...said, host: host.toLowerCase() };
  const counts = head.sessions.length > 0 && cookieMayCount(page);
  // Over TLS only a cookie that no neighbour can have set.
  const sessions = head.sessions.filter(({ isHostOnly }) => isHostOnly === isSecure).map(({ value }) => value);
  const mayUse = certificate !== undefined && certificateMayCount(page);
  return { bearer, sessions: counts ? sessions : noSessions, certificate: mayUse ? certificate : undefined, peer };
}

const noSessions: readonly string[] = [];

function readInto(visit: Visit, knock: Knock): RequestHead {
  const head = readHead(knock.rawHeaders);
  visit.requestId = requestIdOf("error" in head ? undefined : head.requestId);
  if ("error" in head) throw new RouterError("InvalidRequest", head.error);
  visit.userAgent = head.userAgent === undefined ? undefined : clip(head.userAgent);
  return head;
}

/** Who has a body, or the line for itself, may have sent some of it. */
function heldBytes({ head: { bytes, hasBody }, knock }: Reading): number {
  return bytes + (hasBody || knock.isUpgrade ? readAheadBytes : 0);
}
