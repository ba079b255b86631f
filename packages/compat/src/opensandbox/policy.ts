import { sendJson } from "../http/reply.ts";
import type { ExecdCall } from "./execd/context.ts";
import { unsupported } from "./execd/execd-error.ts";

/** The answer of OpenSandbox's egress proxy. Nothing restricts the traffic of one sandbox here. */
export const openPolicy: object = {
  status: "ok",
  mode: "none",
  enforcementMode: "none",
  policy: { defaultAction: "allow", egress: [] },
};

/** For a sandbox from a template, whose NetworkPolicy applies to all sandboxes of the template. */
export const templatePolicy: object = {
  ...openPolicy,
  enforcementMode: "template",
  reason: "The NetworkPolicy of the SandboxTemplate applies, and is not shown here",
};

/** The egress proxy's own API. A rule is never accepted, because nothing would enforce it. */
export function serveEgress({ context, target, request, response, url }: ExecdCall): void {
  const { claim } = context.directory.machine(target.namespace, target.name) ?? {};
  const route = `${request.method} ${url.pathname}`;
  if (route === "GET /policy") sendJson(response, 200, claim === undefined ? openPolicy : templatePolicy);
  else if (url.pathname === "/policy") throw unsupported("A change of the network policy of one sandbox");
  else if (url.pathname.startsWith("/credential-vault")) throw unsupported("The credential vault");
  else if (route === "GET /ping" || route === "GET /health") sendJson(response, 200, {});
  else throw unsupported(`${route.slice(0, 100)} of the egress proxy`);
}
