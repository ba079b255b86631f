import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { bindTo } from "../bind-to.ts";
import type { BoundAddress } from "../listen/listeners.ts";
import type { ListenAddress, RouterOptions } from "../router-options.ts";
import type { Metrics } from "./metrics.ts";

export interface ProbeSources {
  /** Whether the caches are filled and the router is not stopping. */
  readonly isReady: () => boolean;
  readonly metrics: Metrics;
}

export interface ProbeAddresses {
  readonly metricsAddress: BoundAddress | undefined;
  readonly probesAddress: BoundAddress | undefined;
}

/** Serves `/metrics` on one address, and `/healthz` and `/readyz` on another, separate from the traffic. */
export async function startProbes(
  { metrics, probes }: RouterOptions,
  sources: ProbeSources,
  stack: AsyncDisposableStack,
): Promise<ProbeAddresses> {
  const { registry } = sources.metrics;
  const answerMetrics: RequestListener = (request, response) => {
    if (request.url !== "/metrics") return void response.writeHead(404).end();
    registry.metrics().then(
      (text) => response.writeHead(200, { "content-type": registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  };
  const answerProbes: RequestListener = (request, response) => {
    if (request.url === "/healthz") {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ status: "ok" }));
    } else if (request.url === "/readyz") {
      const isReady = sources.isReady();
      response.writeHead(isReady ? 200 : 503, { "content-type": "text/plain" }).end(isReady ? "ok" : "draining");
    } else response.writeHead(404).end();
  };
  return {
    metricsAddress: metrics && (await serve(metrics, answerMetrics, stack)),
    probesAddress: probes && (await serve(probes, answerProbes, stack)),
  };
}

function serve(
  { host = "127.0.0.1", port }: ListenAddress,
  answer: RequestListener,
  stack: AsyncDisposableStack,
): Promise<BoundAddress> {
  const server = createServer(answer);
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...bindTo(host), port }, () => {
      stack.defer(() => {
        server.close();
        server.closeAllConnections();
      });
      resolve({ host, port: (server.address() as AddressInfo).port });
    });
  });
}
