import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { HttpFailure } from "./http-failure.ts";

/**
 * The host name of every dashboard. Cookies are sent to all ports of a host, so the dashboard shares its name with no other server.
 * Sandboxes have names below their namespace, and only administrators create objects in this one.
 */
export const dashboardHost = "dashboard.agent-sandbox-system.localhost";

const loopbackNames = new Set(["localhost", "127.0.0.1", "[::1]"]);

export type HostKind = "own" | "loopback" | "foreign";

/** A page of another site that resolves its own name to this address (DNS rebinding) has a foreign host. */
export function kindOfHost(host: string | undefined, port: number): HostKind {
  if (host === `${dashboardHost}:${port}`) return "own";
  const [name = "", given] = host === undefined ? [] : splitHost(host);
  return loopbackNames.has(name) && given === String(port) ? "loopback" : "foreign";
}

function splitHost(host: string): [string, string] {
  const colon = host.lastIndexOf(":");
  return [host.slice(0, colon), host.slice(colon + 1)];
}

/** Whether a page of this origin sent the request. Browsers do not let scripts set these headers. */
export function isSameOrigin({ headers }: IncomingMessage): boolean {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (origin !== undefined && origin !== `http://${host}`) return false;
  return site === undefined || site === "same-origin";
}

/** Whether the user opened the address, by typing it or from another program, and no page of another site did. */
export function isOwnNavigation({ headers }: IncomingMessage): boolean {
  const site = headers["sec-fetch-site"] ?? "none";
  const mode = headers["sec-fetch-mode"] ?? "navigate";
  const isPrefetch = headers["sec-purpose"] !== undefined || headers["purpose"] !== undefined;
  return (site === "none" || site === "same-origin") && mode === "navigate" && !isPrefetch;
}

/**
 * Every call needs the session's request token in `Authorization`, also those that only read: no form, link, image or script of another
 * page can set that header.
 */
export function checkRequestToken(given: string | undefined, expected: string): void {
  const [, token = ""] = /^Bearer ([\w-]+)$/.exec(given ?? "") ?? [];
  const [a, b] = [Buffer.from(token), Buffer.from(expected)];
  if (a.length === b.length && timingSafeEqual(a, b)) return;
  throw new HttpFailure(403, "Forbidden", "The request has no valid request token: reload the page");
}
