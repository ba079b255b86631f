import type { Pod } from "@agent-sandbox/api";
import { containerId } from "../../packages/node/src/layout.ts";
import { holderName, needsHolder } from "../../packages/node/src/pod/members.ts";
import type { Census } from "./node-census.ts";

/** The resources of a machine that belong to Pods. */
export interface MachineState {
  readonly records: readonly string[];
  readonly namespaces: readonly string[];
  readonly links: number;
  readonly cgroups: readonly string[];
  readonly monitors: readonly string[];
  readonly containers: readonly string[];
  readonly roots: readonly string[];
  readonly admitted: readonly string[];
}

/** The resources that the machine must have for exactly these Pods. */
export function machineOf(all: readonly Pod[]): MachineState {
  const uids = all.map(({ metadata }) => metadata?.uid ?? "").toSorted();
  const live = all.flatMap((pod) => {
    const { containerStatuses = [] } = pod.status ?? {};
    const own = containerStatuses.map(({ name, restartCount }) => [name, restartCount] as const);
    const names = needsHolder(pod) ? [...own, [holderName, 0] as const] : own;
    return names.map(([name, attempt]) => containerId(pod.metadata?.uid ?? "", name, attempt));
  });
  // The files of an init container stay until its Pod is deleted.
  const inits = all.flatMap(({ metadata, spec }) =>
    (spec?.initContainers ?? []).map(({ name }) => `${metadata?.uid}_${name}`),
  );
  return {
    records: uids,
    namespaces: uids,
    links: uids.length,
    cgroups: uids,
    monitors: live.toSorted(),
    containers: live.toSorted(),
    roots: [...live.map((id) => id.replace(/_\d+$/, "")), ...inits].toSorted(),
    admitted: all.map(({ status }) => status?.podIP ?? "").toSorted(),
  };
}

/** Root filesystems of Pods without and with a user namespace. */
const rootPattern = /\/pods\/([^/]+)\/(?:containers\/(?=[^/]+\/rootfs$)|root-)([^/]+)(?:\/rootfs)?$/;

export function machineAsSeen(census: Census): MachineState {
  const uid = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
  const uidsIn = (texts: readonly string[]): string[] =>
    [...new Set(texts.flatMap((text) => uid.exec(text)?.[0] ?? []))].toSorted();
  const rules = census.rules.join(" ");
  const admitted = /set pods \{ type ipv4_addr (?:elements = \{ ([^}]*) \} )?\}/.exec(rules)?.[1] ?? "";
  return {
    records: uidsIn(census.files.filter((path) => path.includes("/pods/"))),
    namespaces: uidsIn(census.namespaces),
    links: census.interfaces.length,
    cgroups: uidsIn(census.cgroups),
    monitors: census.monitors,
    containers: census.containers,
    roots: census.mounts.flatMap((path) => rootPattern.exec(path)?.slice(1, 3).join("_") ?? []).toSorted(),
    admitted: admitted
      .split(",")
      .flatMap((address) => address.trim() || [])
      .toSorted(),
  };
}
