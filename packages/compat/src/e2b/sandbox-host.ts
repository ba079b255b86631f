import { isName } from "../cluster/names.ts";

export interface SandboxHost {
  readonly port: number;
  readonly name: string;
  readonly namespace: string;
}

const maxHostLength = 260;

/** Parses `<port>-<sandbox>.<namespace>.<domain>`, with or without a port at the end. Undefined for every other host name. */
export function parseSandboxHost(host: string | undefined, domains: readonly string[]): SandboxHost | undefined {
  if (host === undefined || host.length > maxHostLength) return undefined;
  const name = host.replace(/:\d*$/, "").replace(/\.$/, "").toLowerCase();
  const domain = domains.find((candidate) => name.endsWith(`.${candidate}`));
  if (domain === undefined) return undefined;
  const [first = "", namespace = "", ...rest] = name.slice(0, -domain.length - 1).split(".");
  const [, digits = "", sandbox = ""] = /^([1-9]\d{0,4})-(.+)$/.exec(first) ?? [];
  const port = Number(digits);
  const isComplete = rest.length === 0 && isName(namespace) && isName(sandbox) && port >= 1 && port <= 65_535;
  return isComplete ? { port, name: sandbox, namespace } : undefined;
}
