import type { Service } from "@agent-sandbox/api";
import { clusterIpOf, isServiceAddress, podsBehind, type ServingPod } from "./services.ts";

export interface NameView {
  readonly pods: readonly ServingPod[];
  /** By `namespace/name`. */
  readonly services: ReadonlyMap<string, Service>;
}

/** The result of looking up a name of the cluster. */
export interface Named {
  readonly namespace: string;
  readonly pods: readonly ServingPod[];
  /** The cluster IP of a Service, which is the answer instead of the Pods' addresses. */
  readonly address?: string;
}

const cluster = "cluster.local";

/**
 * Looks up a name of the cluster: of a Service, of a Pod of a headless Service, or of the Pod of a Sandbox, which has the
 * Sandbox's name. Returns no Pods and no address if the name does not exist, and `undefined` for names outside the cluster.
 * A Service of type ExternalName has no addresses, so that a tenant cannot redirect a name to an arbitrary host.
 */
export function podsNamed(name: string, view: NameView): Named | undefined {
  const labels = name.toLowerCase().replace(/\.$/, "").split(".");
  if (labels.slice(-2).join(".") !== cluster) return undefined;
  const nobody = { namespace: "", pods: [] };
  if (labels.at(-3) !== "svc") return nobody;
  const [namespace = "", first = "", host, ...more] = labels.slice(0, -3).toReversed();
  if (first === "" || more.length > 0) return nobody;
  const near = view.pods.filter((pod) => pod.namespace === namespace);
  // `<hostname>.<subdomain>` of a Pod.
  if (host !== undefined) {
    return { namespace, pods: near.filter((pod) => pod.subdomain === first && pod.hostname === host) };
  }
  const service = view.services.get(`${namespace}/${first}`);
  if (service === undefined) return { namespace, pods: near.filter((pod) => pod.name === first) };
  return serviceNamed(service, namespace, near);
}

function serviceNamed(service: Service, namespace: string, near: readonly ServingPod[]): Named {
  const pods = podsBehind(service, near);
  const address = clusterIpOf(service);
  if (address === undefined) return { namespace, pods };
  return isServiceAddress(address) ? { namespace, pods, address } : { namespace, pods: [] };
}
