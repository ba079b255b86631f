import type { Service } from "@agent-sandbox/api";
import { selects } from "./label-selector.ts";
import type { NetworkedPod } from "./policy.ts";

/** An address and port of a Service, and the Pods behind it. */
export interface ServiceDoor {
  readonly address: string;
  readonly protocol: "tcp" | "udp" | "sctp";
  readonly port: number;
  readonly targets: readonly { readonly address: string; readonly port: number }[];
}

/** A Pod behind which Services may stand. */
export interface ServingPod extends NetworkedPod {
  readonly name: string;
  readonly ready: boolean;
  readonly hostname: string;
  readonly subdomain: string;
}

/** The doors of all Services that have an address of their own. */
export function doorsOf(services: readonly Service[], pods: readonly ServingPod[]): ServiceDoor[] {
  return services.flatMap((service) => {
    const address = service.spec?.clusterIP ?? "";
    if (address === "" || address === "None" || address.includes(":")) return [];
    const behind = podsBehind(service, pods);
    return (service.spec?.ports ?? []).map(({ protocol = "TCP", port, targetPort = port }) => ({
      address,
      protocol: protocol.toLowerCase() as ServiceDoor["protocol"],
      port,
      targets: behind.flatMap((pod) => {
        const number = typeof targetPort === "number" ? targetPort : pod.ports.get(targetPort);
        return number === undefined ? [] : [{ address: pod.address, port: number }];
      }),
    }));
  });
}

/** The Pods that a Service selects and that are ready, or whose readiness it does not care about. */
export function podsBehind({ metadata, spec }: Service, pods: readonly ServingPod[]): ServingPod[] {
  const matchLabels = spec?.selector ?? {};
  if (Object.keys(matchLabels).length === 0) return [];
  return pods.filter(
    (pod) =>
      pod.namespace === metadata?.namespace &&
      (pod.ready || spec?.publishNotReadyAddresses === true) &&
      selects({ matchLabels }, pod.labels),
  );
}
