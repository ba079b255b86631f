import type { OpenTelemetry } from "../telemetry/tracing.ts";

export interface ConnectOptions {
  /** The address of the router. Default: `AGENT_SANDBOX_ROUTER_URL`, or the router of the running box. */
  readonly router?: string;
  /** The address of the API server. Default: that of the box, the kubeconfig or the cluster that this program runs in. */
  readonly server?: string;
  /** A bearer token for both, or a function that returns the present one. Default: that of the kubeconfig. */
  readonly token?: string | (() => string | Promise<string>);
  /** The certificate authority of the API server, in PEM. */
  readonly ca?: string;
  /** Default: `default`, or the namespace of the kubeconfig's context. */
  readonly namespace?: string;
  /** A kubeconfig file. Default: as kubectl. */
  readonly kubeconfig?: string;
  readonly context?: string;
  /** The data folder of the box. Default: `AGENT_SANDBOX_DATA_DIR`, or `/var/lib/agent-sandbox`. */
  readonly dataDir?: string;
  /** The module `@opentelemetry/api`. Default: it is loaded if the program has set a tracer provider. In browsers it must be passed. */
  readonly openTelemetry?: OpenTelemetry;
  /** Sends the requests, in browsers. Default: the `fetch` of the page. */
  readonly fetch?: typeof globalThis.fetch;
}

/** The value of an `Authorization` header from the option `token`. */
export async function bearer(token: NonNullable<ConnectOptions["token"]>): Promise<string> {
  return `Bearer ${typeof token === "string" ? token : await token()}`;
}

/** Without a slash at the end, so that paths can be appended. */
export function trimSlash(url: string): string {
  return url.endsWith("/") ? url.slice(0, -1) : url;
}
