import { once } from "node:events";
import { request } from "node:http";
import type { Socket } from "node:net";
import { connectTcp } from "../system/connect-tcp.ts";
import type { Target } from "./pull-targets.ts";

/** The machine's HTTP proxy, from `HTTPS_PROXY` and `NO_PROXY`. */
export interface UpstreamProxy {
  readonly url: URL;
  /** Hosts and domain suffixes that do not use the proxy. */
  readonly except: readonly string[];
}

export function upstreamProxy(env: Readonly<Record<string, string | undefined>>): UpstreamProxy | undefined {
  const text = env["HTTPS_PROXY"] || env["https_proxy"];
  if (!text) return undefined;
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (url === null || url.protocol !== "http:") return undefined;
  const except = (env["NO_PROXY"] || env["no_proxy"] || "").split(",").map((one) => one.trim().replace(/^\*?\./, ""));
  return { url, except: except.filter((one) => one !== "") };
}

export function usesProxy({ except }: UpstreamProxy, host: string): boolean {
  return !except.some((one) => one === "*" || host === one || host.endsWith(`.${one}`));
}

const connectTimeoutMs = 10_000;

/** Connects to a host, through the proxy if there is one. */
export async function connectTo({ host, port }: Target, proxy: UpstreamProxy | undefined): Promise<Socket> {
  const signal = AbortSignal.timeout(connectTimeoutMs);
  if (proxy !== undefined) return tunnel(proxy.url, `${host.includes(":") ? `[${host}]` : host}:${port}`, signal);
  return connectTcp(host, port, { signal });
}

async function tunnel({ hostname, port, username, password }: URL, path: string, signal: AbortSignal): Promise<Socket> {
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  const headers = { host: path, ...(username !== "" && { "proxy-authorization": `Basic ${login}` }) };
  const asked = request({ host: hostname, port: port || 80, method: "CONNECT", path, headers, signal }).end();
  const [answer, socket] = (await once(asked, "connect", { signal })) as [{ statusCode?: number }, Socket];
  if (answer.statusCode === 200) return socket;
  socket.destroy();
  throw new Error(`the proxy answered ${answer.statusCode}`);
}
