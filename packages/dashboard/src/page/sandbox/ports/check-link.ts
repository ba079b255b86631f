export interface LinkTarget {
  readonly namespace: string;
  readonly name: string;
  readonly port: number;
}

/**
 * The browser opens only the login page of this port of this sandbox, and from a page on this machine only one on this machine. Throws
 * if the link is another one.
 */
export function checkLink(link: unknown, { namespace, name, port }: LinkTarget, pageHost: string): string {
  const url = typeof link === "string" ? URL.parse(link) : null;
  const isExpected =
    url !== null &&
    ["http:", "https:"].includes(url.protocol) &&
    url.hostname.startsWith(`${port}-${name}.${namespace}.`) &&
    url.pathname === "/.agent-sandbox/login" &&
    url.username === "" &&
    url.password === "";
  if (!isExpected) throw new Error("The router returned a link that is not one of this port");
  if (isLocal(pageHost) && !isLocal(url.hostname)) {
    throw new Error(`The router serves sandboxes at ${url.hostname}, which is not this machine`);
  }
  return url.href;
}

function isLocal(host: string): boolean {
  return host === "localhost" || host.endsWith(".localhost");
}
