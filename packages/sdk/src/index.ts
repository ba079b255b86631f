import { SandboxClient } from "./client.ts";
import type { ConnectOptions } from "./connect/connect-options.ts";
import { discover } from "./connect/discover.ts";
import { NodeHttp } from "./http/node.ts";
import { ApiServer } from "./kube/api-server.ts";
import { Router } from "./runtime/router.ts";
import { loadTracing } from "./telemetry/load.ts";

export * from "./public.ts";

/**
 * Connects to the running box, or to the cluster of the kubeconfig. Nothing is sent yet.
 *
 * @example
 * ```ts
 * import { connect } from "@agent-sandbox/sdk";
 *
 * using client = await connect();
 * await using sandbox = await client.create({ image: "host" });
 * const { stdout } = await sandbox.commands.run("echo Hello");
 * console.log(stdout);
 * // Output: Hello
 * ```
 */
export async function connect(options: ConnectOptions = {}): Promise<SandboxClient> {
  const [{ api, router, namespace }, tracing] = await Promise.all([
    discover(options),
    loadTracing(options.openTelemetry),
  ]);
  const http = new NodeHttp();
  return new SandboxClient({
    api: new ApiServer(http.send, api),
    router: new Router(http.send, router, tracing),
    namespace,
    close: () => http[Symbol.dispose](),
  });
}
