import { badRequest, forbidden } from "./http-failure.ts";

/** The path of a request of the Kubernetes API. Proxies to Pods and Services are refused: sandboxes have addresses of their own. */
export function kubePath(target: string): string {
  const [path = ""] = target.split("?", 1);
  if (!/^\/(?:apis?\/|version$)[\w./%~:@-]*$|^\/apis?$/.test(path))
    throw badRequest("The path is not one of the Kubernetes API");
  const segments = decoded(path).slice(1).replace(/\/$/, "").split("/");
  if (/%2f/i.test(path) || !segments.every(isName)) throw badRequest("The path is not valid");
  if (isProxy(segments)) throw forbidden("The dashboard does not proxy to Pods, Services and Nodes");
  return target;
}

/** Names contain no `%`: it would be a second encoding. Empty segments are refused, because servers disagree about them. */
function isName(segment: string): boolean {
  return segment !== "." && segment !== ".." && /^[^%?#\\\p{Cc}]+$/u.test(segment);
}

const proxied = new Set(["pods", "services", "nodes"]);

/** `proxy` is also a valid name of objects and namespaces, so only its place in the path counts. Ignores case, to be safe. */
function isProxy(segments: readonly string[]): boolean {
  const [root, ...rest] = segments.map((segment) => segment.toLowerCase());
  const [first, ...others] = rest.slice(root === "apis" ? 2 : 1);
  // Old servers have the verb before the resource.
  if (first === "proxy") return root === "api";
  const place = first === "watch" ? others : [first, ...others];
  const [resource = "", _name, subresource] = place[0] === "namespaces" && place.length > 2 ? place.slice(2) : place;
  return proxied.has(resource) && subresource === "proxy";
}

/** The path of a request of the router: its own API, or the runtime API of the sandbox that the headers name. */
export function routerPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  if (
    !path.startsWith("/") ||
    path.startsWith("//") ||
    path.startsWith("/sandboxes/") ||
    path.startsWith("/.agent-sandbox/")
  ) {
    throw badRequest("The path is not one of the router");
  }
  decoded(path);
  return target;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    throw badRequest("The path is not valid");
  }
}
