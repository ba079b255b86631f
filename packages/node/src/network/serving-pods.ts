import type { Pod } from "@agent-sandbox/api";
import { hostnameOf } from "../oci/environment.ts";
import { asksForAccount } from "./api-access.ts";
import { isPort } from "./policy-ports.ts";
import type { ServingPod } from "./services.ts";

/** Converts the Pods that are on the network to the form that the firewall and the DNS server use. */
export function servingPods(pods: Iterable<Pod>, addressOf: (uid: string) => string | undefined): ServingPod[] {
  const found: ServingPod[] = [];
  for (const pod of pods) {
    const { metadata = {}, spec, status } = pod;
    const address = addressOf(metadata.uid ?? "");
    if (address === undefined) continue;
    found.push({
      namespace: metadata.namespace ?? "",
      name: metadata.name ?? "",
      labels: metadata.labels ?? {},
      address,
      ports: namedPorts(pod),
      ready: status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True") === true,
      hostname: hostnameOf(pod),
      subdomain: spec?.subdomain ?? "",
      ...(asksForAccount(pod) && { asksForAccount: true }),
    });
  }
  return found;
}

function namedPorts({ spec }: Pod): Map<string, number> {
  const all = [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])].flatMap(({ ports = [] }) => ports);
  return new Map(
    all.flatMap(({ name, containerPort }) =>
      name !== undefined && isPort(containerPort) ? [[name, containerPort] as const] : [],
    ),
  );
}
