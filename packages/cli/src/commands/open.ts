import type { Sandbox } from "@agent-sandbox/api";
import { connect, type GlobalOptions } from "../client/connect.ts";
import { findSandbox } from "../client/find-sandbox.ts";
import { presentLink } from "../client/open-browser.ts";
import { findRouter } from "../client/router-address.ts";
import { CommandError } from "../command-error.ts";
import { ownToken } from "./token.ts";

export interface OpenOptions extends GlobalOptions {
  readonly print?: boolean;
  readonly router?: string;
}

/** Opens a port of a sandbox in the browser, through a login link that can be used once. */
export async function open(name: string, portText: string | undefined, options: OpenOptions): Promise<void> {
  const given = portText === undefined ? undefined : parsePort(portText);
  await using connection = await connect(options);
  const sandbox = await findSandbox(connection, name);
  const port = given ?? declaredPort(sandbox);
  const token = await ownToken(connection);
  await using router = await findRouter(connection, options.router);
  const place = { namespace: connection.namespace, name: sandbox.metadata.name ?? "", port };
  const link = checkLink(await requestLink(router.url, token, place), router.url);
  const next = presentLink(link, options);
  if (!router.isForwarded) {
    if (next !== undefined) console.error(next);
    return;
  }
  console.error(
    "Forwarding the port of the router until this program is interrupted. The link works once, within a minute",
  );
  await new Promise(() => undefined);
}

export function parsePort(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port > 0 && port <= 65_535) return port;
  throw new CommandError(`Cannot read port "${text}": write a number from 1 to 65535`);
}

/** The first port that a container declares. */
export function declaredPort({ metadata, spec }: Sandbox): number {
  const ports = (spec.podTemplate?.spec?.containers ?? []).flatMap(({ ports = [] }) => ports);
  const [first] = ports.filter(({ protocol = "TCP" }) => protocol === "TCP").map(({ containerPort }) => containerPort);
  if (first !== undefined) return first;
  throw new CommandError(
    `sandbox "${metadata.name}" declares no port: name it, as in: agent-sandbox open ${metadata.name} 8000`,
  );
}

interface Place {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/** The token is sent in a header, so that it is in no URL and no list of processes. */
async function requestLink(router: string, token: string, { namespace, name, port }: Place): Promise<string> {
  const path = `/router/v1/namespaces/${encodeURIComponent(namespace)}/sandboxes/${encodeURIComponent(name)}/logins`;
  let response: Response;
  try {
    response = await fetch(`${router}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ ports: [port] }),
      redirect: "error",
      signal: AbortSignal.timeout(requestMs),
    });
  } catch (error) {
    const { cause } = error as { cause?: { code?: string } };
    throw new CommandError(`Cannot reach the router at ${router}: ${cause?.code ?? (error as Error).message}`, {
      cause: error,
    });
  }
  const body = (await response.json().catch(() => ({}))) as { readonly url?: unknown; readonly detail?: string };
  if (response.ok && typeof body.url === "string") return body.url;
  throw new CommandError(`the router refused a login link: ${body.detail ?? `status ${response.status}`}`);
}

const requestMs = 30_000;

/** The browser gets only a web address, and one that this program forwards if it forwards one. */
export function checkLink(link: string, router: string): string {
  const url = URL.parse(link);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new CommandError(`the router returned an invalid link: ${link}`);
  }
  const isLocal = (host: string): boolean =>
    host === "127.0.0.1" || host === "localhost" || host.endsWith(".localhost");
  if (isLocal(new URL(router).hostname) && !isLocal(url.hostname)) {
    throw new CommandError(`the router serves sandboxes at ${url.hostname}: name its own address with --router`);
  }
  return url.href;
}
