import type { Service } from "@agent-sandbox/api";
import { podsBehind, type ServingPod } from "./services.ts";

export interface NameView {
  readonly pods: readonly ServingPod[];
  readonly services: readonly Service[];
}

const cluster = "cluster.local";

/**
 * The addresses of a name inside the cluster: of a Service, of a Pod behind a headless one, or of the Pod of a Sandbox,
 * which has the Sandbox's name. Empty when there is no such name; `undefined` for names that are not the cluster's.
 */
export function addressesOf(name: string, view: NameView): readonly string[] | undefined {
  const labels = name.toLowerCase().replace(/\.$/, "").split(".");
  if (labels.slice(-2).join(".") !== cluster) return undefined;
  if (labels.at(-3) !== "svc") return [];
  const [namespace = "", first = "", host, ...more] = labels.slice(0, -3).toReversed();
  if (first === "" || more.length > 0) return [];
  if (host !== undefined) return hostOf(host, first, namespace, view);
  const service = view.services.find(({ metadata }) => metadata?.name === first && metadata.namespace === namespace);
  if (service !== undefined) return serviceAddresses(service, view);
  return view.pods.filter((pod) => pod.name === first && pod.namespace === namespace).map(({ address }) => address);
}

function serviceAddresses(service: Service, { pods }: NameView): string[] {
  const own = service.spec?.clusterIP ?? "";
  return own === "" || own === "None" ? podsBehind(service, pods).map(({ address }) => address) : [own];
}

/** A Pod that says it is a host of that Service's. */
function hostOf(host: string, service: string, namespace: string, { pods }: NameView): string[] {
  return pods
    .filter((pod) => pod.namespace === namespace && pod.subdomain === service && pod.hostname === host)
    .map(({ address }) => address);
}
