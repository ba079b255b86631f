import { SandboxClient } from "./client.ts";
import type { ConnectOptions } from "./connect/connect-options.ts";
import { namedServers } from "./connect/named-servers.ts";
import { SandboxError } from "./errors.ts";
import { sendWithFetch } from "./http/fetch.ts";
import { ApiServer } from "./kube/api-server.ts";
import { Router } from "./runtime/router.ts";
import { Tracing } from "./telemetry/tracing.ts";

export * from "./public.ts";

declare const isSecureContext: boolean;

/** `connect` for browsers: the options must name the router and a token. The router must allow the origin of the page. */
export async function connect(options: ConnectOptions = {}): Promise<SandboxClient> {
  const { router, token, openTelemetry } = options;
  const refuse = (why: string): SandboxError => new SandboxError("InvalidArgument", `Cannot connect: ${why}`);
  if (router === undefined || token === undefined) throw refuse("a browser needs the options router and token");
  // Such a page can be changed on its way, and so can read the token. It also has no `crypto.randomUUID`.
  if (!isSecureContext) throw refuse("the page must be loaded over HTTPS or from localhost");
  const { api, router: access, namespace } = namedServers(options, router);
  // The function of the page is looked up for each request: others may replace it.
  const send = sendWithFetch(options.fetch ?? ((...request) => fetch(...request)));
  return new SandboxClient({
    api: new ApiServer(send, api),
    router: new Router(send, access, openTelemetry && new Tracing(openTelemetry)),
    namespace,
    close: () => undefined,
  });
}
