import { PassThrough } from "node:stream";
import { KubeConfig, PortForward } from "@kubernetes/client-node";
import type { TenantAccount } from "./tenant.ts";
import { until } from "./until.ts";

/** Where a port-forward goes, and the request that is sent over it. */
export interface ForwardedRequest {
  /** The namespace of the Pod. Default: the router's own. */
  readonly namespace?: string;
  readonly pod?: string;
  readonly port?: number;
  readonly path?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Sends one HTTP request through a port-forward of the account, as the published clients do. Returns the whole response. */
export async function forwardToRouter(
  { server, ca, token }: Pick<TenantAccount, "server" | "ca" | "token">,
  { namespace = "agent-sandbox-system", pod = "sandbox-router", port = 8080, path = "/", headers }: ForwardedRequest,
): Promise<string> {
  const config = new KubeConfig();
  const cluster = { name: "box", server, caData: Buffer.from(ca).toString("base64"), skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: "user", token });
  const [output, errors, input] = [new PassThrough(), new PassThrough(), new PassThrough()];
  let said = "";
  for (const stream of [output, errors]) stream.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const forward = new PortForward(config, true);
  const socket = await forward.portForward(namespace, pod, [port], output, errors, input);
  const lines = Object.entries({ Host: "127.0.0.1:40123", Connection: "close", ...headers });
  input.write(`GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  try {
    return await until(async () =>
      output.readableEnded || said.includes("error forwarding") || isWhole(said) ? said : undefined,
    );
  } finally {
    if ("close" in socket) socket.close();
    else socket()?.close();
  }
}

/** Whether a response with a length has arrived. */
function isWhole(said: string): boolean {
  const [, head = "", body = ""] = /^(HTTP\/1\.1[\s\S]*?)\r\n\r\n([\s\S]*)$/.exec(said) ?? [];
  const [, length] = /content-length: (\d+)/i.exec(head) ?? [];
  return length !== undefined && Buffer.byteLength(body) >= Number(length);
}

export const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);
