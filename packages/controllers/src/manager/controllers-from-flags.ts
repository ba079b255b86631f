import type { InjectedRuntime } from "../sandbox/settings.ts";
import type { ControllersOptions } from "../start-controllers.ts";
import { defaultRouterPlace } from "../template/desired-policy.ts";
import type { ManagerFlags } from "./flag-table.ts";

/** The options of the controllers that the flags set. */
export function controllersFromFlags(
  flags: ManagerFlags,
  labelDomains: readonly string[] | undefined,
): Omit<ControllersOptions, "client" | "log" | "instance"> {
  return {
    extensions: flags.extensions,
    settings: {
      clusterDomain: flags["cluster-domain"],
      writeBehindMs: flags["sandbox-write-behind-window"],
      runtime: runtimeFrom(flags),
    },
    workers: {
      sandbox: flags["sandbox-concurrent-workers"],
      sandboxclaim: flags["sandbox-claim-concurrent-workers"],
      sandboxwarmpool: flags["sandbox-warm-pool-concurrent-workers"],
      sandboxtemplate: Math.max(1, flags["sandbox-template-concurrent-workers"]),
    },
    pools: {
      maxBatch: flags["sandbox-warm-pool-max-batch-size"],
      replenishDelayMs: flags["sandbox-warm-pool-replenish-delay"],
      maxPerSecond: flags["sandbox-warm-pool-max-refill-rate"],
      readinessGraceMs: flags["sandbox-warm-pool-readiness-grace-period"],
      recheckMs: flags["sandbox-warm-pool-unschedulable-recheck-interval"],
      markEvictable: flags["enable-warm-pool-eviction"],
    },
    claims: {
      stampClaims: !flags["disable-claim-observability-annotations"],
      ...(labelDomains && { labelDomains }),
    },
    claimEvents: !flags["disable-claim-events"],
    onlyLabelledChildren: flags["cache-label-selectors"],
    router: { ...defaultRouterPlace, namespace: flags["router-namespace"] },
  };
}

function runtimeFrom(flags: ManagerFlags): InjectedRuntime | undefined {
  const image = flags["runtime-image"];
  const delivery = flags["runtime-delivery"] === "ImageVolume" ? "ImageVolume" : "InitContainer";
  const pullPolicy = flags["runtime-image-pull-policy"] as "Always" | "IfNotPresent" | "Never";
  return image === "" ? undefined : { image, pullPolicy, delivery };
}
