import type { Route } from "../route/route.ts";
import { keptCookie } from "./set-cookie.ts";

/**
 * Response headers that affect more than the response: the host, the site or the connection. A sandbox may set them for
 * its own host name. It shares the site with other sandboxes and the connection with the router; if it is reached by path
 * or header, it shares the host too.
 */
const wholeHost: ReadonlySet<string> = new Set([
  "nel",
  "public-key-pins",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "strict-transport-security",
]);

/** Which pages may read a response. On its own host name a sandbox decides that, on a host name of the router the router does. */
const readers: ReadonlySet<string> = new Set([
  "access-control-allow-credentials",
  "access-control-allow-headers",
  "access-control-allow-methods",
  "access-control-allow-origin",
  "access-control-allow-private-network",
  "access-control-expose-headers",
  "access-control-max-age",
  "timing-allow-origin",
]);

export const siteHeaders: readonly string[] = [
  "alt-svc",
  "clear-site-data",
  "set-cookie",
  "set-cookie2",
  ...wholeHost,
  ...readers,
];

/** The value to relay, or undefined to drop the header. `lower` is one of `siteHeaders`. */
export function siteHeader(lower: string, value: string, route: Route): string | undefined {
  const isOwnHost = route.by === "host";
  if (lower === "set-cookie") return keptCookie(value, route.by === "path" ? pathPrefix(route) : undefined);
  if (lower === "clear-site-data") return isOwnHost ? originDirectives(value) : undefined;
  return isOwnHost && (wholeHost.has(lower) || readers.has(lower)) ? value : undefined;
}

/**
 * Added to responses of sandboxes that are reached by path. The pages of all sandboxes would share one origin there, with
 * its storage and service workers. The `sandbox` directive gives each page an opaque origin instead (HTML, 7.1.5).
 */
export const sharedHostHeaders: readonly string[] = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts",
];

function pathPrefix({ namespace, name, port }: Route): string {
  return `/sandboxes/${namespace}/${name}/${port}`;
}

/** The directives that affect only the origin. `"cookies"`, also part of `"*"`, would clear those of the whole site. */
const ofOrigin: readonly string[] = ['"cache"', '"storage"', '"executionContexts"'];

function originDirectives(value: string): string | undefined {
  const wanted = value.split(",").map((directive) => directive.trim());
  const kept = ofOrigin.filter((directive) => wanted.includes(directive) || wanted.includes('"*"'));
  return kept.length === 0 ? undefined : kept.join(", ");
}
