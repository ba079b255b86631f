import type { Route } from "../route/route.ts";
import { keptCookie } from "./set-cookie.ts";

/**
 * Headers by which an answer tells a browser something about more than itself: about its host, its site or its connection.
 * A sandbox may tell it about its own host name. It shares the site with its neighbours, the connection with the router,
 * and below a path or behind a header also the host.
 */
const wholeHost: ReadonlySet<string> = new Set([
  "nel",
  "public-key-pins",
  "report-to",
  "reporting-endpoints",
  "service-worker-allowed",
  "strict-transport-security",
]);

export const siteHeaders: readonly string[] = ["alt-svc", "clear-site-data", "set-cookie", "set-cookie2", ...wholeHost];

/** The value that goes to the caller; undefined when the header does not. `lower` is one of `siteHeaders`. */
export function siteHeader(lower: string, value: string, route: Route): string | undefined {
  const isOwnHost = route.by === "host";
  if (lower === "set-cookie") return keptCookie(value, route.by === "path" ? pathPrefix(route) : undefined);
  if (lower === "clear-site-data") return isOwnHost ? clearedOfOrigin(value) : undefined;
  return isOwnHost && wholeHost.has(lower) ? value : undefined;
}

/**
 * What is added to answers below a path. Pages of all sandboxes would be one origin there, with one storage and one set of
 * service workers: each page becomes an origin of its own instead (HTML, 7.1.5: sandboxing).
 */
export const sharedHostHeaders: readonly string[] = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts",
];

/** In front of everything that belongs to the sandbox on the shared host. */
function pathPrefix({ namespace, name, port }: Route): string {
  return `/sandboxes/${namespace}/${name}/${port}`;
}

/** What belongs to the origin alone. `"cookies"` clears those of the whole site, and `"*"` includes them. */
const ofOrigin: readonly string[] = ['"cache"', '"storage"', '"executionContexts"'];

function clearedOfOrigin(value: string): string | undefined {
  const wanted = value.split(",").map((directive) => directive.trim());
  const kept = ofOrigin.filter((directive) => wanted.includes(directive) || wanted.includes('"*"'));
  return kept.length === 0 ? undefined : kept.join(", ");
}
