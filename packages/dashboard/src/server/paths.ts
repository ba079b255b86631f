import { badRequest, forbidden } from "./http-failure.ts";

/** The path of a request of the Kubernetes API. Proxies to Pods and Services are refused: sandboxes have addresses of their own. */
export function kubePath(target: string): string {
  const [path = ""] = target.split("?", 1);
  if (!/^\/(?:apis?\/|version$)[\w./%~:@-]*$|^\/apis?$/.test(path))
    throw badRequest("The path is not one of the Kubernetes API");
  const segments = decoded(path).split("/");
  if (segments.some((segment) => segment === ".." || segment === ".")) throw badRequest("The path is not valid");
  if (segments.includes("proxy")) throw forbidden("The dashboard does not proxy to Pods, Services and Nodes");
  return target;
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
