import { serviceRange } from "@agent-sandbox/api";
import { connectionBounds, connectionLimits, tableSize } from "../network/connection-limits.ts";
import { routedServiceAddresses } from "../network/machine-networks.ts";
import { formatAddresses } from "../network/ranges.ts";
import { tryCommand } from "../system/run-command.ts";
import type { Finding } from "./examine.ts";

/** Checks whether connections can be limited, and whether the range of Services is free. */
export async function examineNetwork(isRoot: boolean): Promise<Finding[]> {
  return [await examineLimits(isRoot), examineRange()];
}

/** Uses `nft --check`, which changes nothing. */
async function examineLimits(isRoot: boolean): Promise<Finding> {
  const name = "connection limits";
  if (!isRoot) return { name, state: "lacking", detail: "not tried without root" };
  const bounds = connectionBounds(await tableSize());
  const input = connectionLimits({ table: "agent_sandbox_doctor", bridge: "asbdoctor" }, bounds);
  const { code, stderr } = await tryCommand("nft", ["--check", "-f", "-"], { input });
  if (code === 0) return { name, state: "ok", detail: `${bounds.pod} for a Pod, ${bounds.namespace} for a namespace` };
  const remedy = "use a kernel with nft_connlimit; until then one Pod can fill the machine's table of connections";
  return { name, state: "lacking", detail: stderr.trim().split("\n")[0] ?? "", remedy };
}

function examineRange(): Finding {
  const name = "addresses of Services";
  const routed = routedServiceAddresses("");
  if (routed.length === 0) return { name, state: "ok", detail: `${serviceRange} is free` };
  const networks = routed.map(formatAddresses).join(", ");
  const detail = `this machine has routes to ${networks}, in the range of Services ${serviceRange}`;
  return { name, state: "lacking", detail: `${detail}: Pods cannot reach that network` };
}
