import type { Container, Pod } from "@agent-sandbox/api";
import { isSafeUid } from "../layout.ts";
import { kindOf, volumeKinds } from "../volume/kinds.ts";
import { containerRule, flag, id, label, off, seccompRule } from "./container-rules.ts";
import { anything, list, matching, object, oneOf, type Refusal, type Rule, refuse, satisfying } from "./field-rules.ts";
import { allowedRuntimesAnnotation } from "./namespace-rules.ts";
import type { NodeRules } from "./observed.ts";
import { runtimeOf, runtimesSoFar } from "./pod-runtime.ts";
import type { PodRecord } from "./record.ts";
import type { Problem } from "./status.ts";

const ipAddress = matching(/^[0-9a-fA-F.:]{2,45}$/, "an IP address");
const hostName = matching(/^[A-Za-z0-9._-]{1,253}$/, "a host name");
const seconds = satisfying((value) => Number.isInteger(value) && Number(value) >= 0, "a number of seconds");
const mostContainers = 50;

/** Sysctls that are namespaced and that Kubernetes considers safe. */
const safeSysctl = oneOf(
  "kernel.shm_rmid_forced",
  "net.ipv4.ip_local_port_range",
  "net.ipv4.ip_local_reserved_ports",
  "net.ipv4.ip_unprivileged_port_start",
  "net.ipv4.ping_group_range",
  "net.ipv4.tcp_fin_timeout",
  "net.ipv4.tcp_keepalive_intvl",
  "net.ipv4.tcp_keepalive_probes",
  "net.ipv4.tcp_keepalive_time",
  "net.ipv4.tcp_syncookies",
);

/** Fields for the scheduler or API server, and fields without a meaning on a single node. */
const settledElsewhere: Readonly<Record<string, Rule>> = Object.fromEntries(
  [
    "affinity automountServiceAccountToken enableServiceLinks imagePullSecrets nodeName nodeSelector overhead",
    "preemptionPolicy priority priorityClassName readinessGates schedulerName schedulingGates serviceAccount",
    "serviceAccountName tolerations topologySpreadConstraints",
    // Checked when each of them starts, because they may be added while the Pod runs.
    "ephemeralContainers",
  ].flatMap((line) => line.split(" ").map((name) => [name, anything])),
);

function specRule({ allow }: NodeRules, ownKernel: boolean): Rule {
  const container = containerRule(allow, { tracing: ownKernel });
  return object({
    ...settledElsewhere,
    activeDeadlineSeconds: seconds,
    initContainers: list(object({ ...container, restartPolicy: oneOf("Always") }), mostContainers),
    containers: list(object(container), mostContainers),
    dnsPolicy: oneOf("ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"),
    dnsConfig: object({
      nameservers: list(ipAddress, 3),
      searches: list(hostName, 32),
      options: list(
        object({ name: matching(/^[\w-]+$/, "an option"), value: matching(/^[\w-]+$/, "an option's value") }),
        32,
      ),
    }),
    hostAliases: list(object({ ip: ipAddress, hostnames: list(hostName, 100) }), 100),
    hostIPC: off,
    hostNetwork: off,
    hostPID: off,
    hostUsers: flag,
    hostname: label,
    os: object({ name: oneOf("linux") }),
    restartPolicy: oneOf("Always", "OnFailure", "Never"),
    // See `runtimeProblem`.
    runtimeClassName: anything,
    securityContext: object({
      runAsUser: id,
      runAsGroup: id,
      runAsNonRoot: flag,
      supplementalGroups: list(id, 100),
      supplementalGroupsPolicy: oneOf("Merge"),
      fsGroup: id,
      fsGroupChangePolicy: oneOf("Always", "OnRootMismatch"),
      seccompProfile: seccompRule(allow),
      sysctls: list(object({ name: safeSysctl, value: matching(/^[0-9,\s-]+$/, "a setting") }), 100),
    }),
    setHostnameAsFQDN: off,
    shareProcessNamespace: flag,
    subdomain: label,
    terminationGracePeriodSeconds: seconds,
    volumes: list(
      object({ name: label, ...Object.fromEntries(volumeKinds.map((kind) => [kind.field, kind.rule(allow)])) }),
      100,
    ),
  });
}

/**
 * Why this node cannot run a Pod, or undefined. The message names the first unsupported field by its path. A Pod that has
 * already run keeps its runtime even if that is no longer allowed.
 */
export function unsupportedField(
  pod: Pod,
  rules: NodeRules,
  record?: Pick<PodRecord, "containers">,
): Problem | undefined {
  const refusal = isSafeUid(pod.metadata?.uid ?? "")
    ? (runtimeProblem(pod, rules, record ?? { containers: {} }) ??
      specRule(rules, hasOwnKernel(wantedRuntime(pod, rules), rules))(pod.spec ?? {}, "spec") ??
      usersProblem(pod, rules) ??
      inconsistency(pod))
    : refuse("metadata.uid", "is not a UID");
  return refusal === undefined ? undefined : { reason: "CreateContainerConfigError", message: wording(pod, refusal) };
}

function runtimeProblem(pod: Pod, rules: NodeRules, record: Pick<PodRecord, "containers">): Refusal | undefined {
  const { runtimes, allowedRuntimes, defaultRuntime } = rules;
  const runtime = runtimeOf(pod, record, defaultRuntime);
  if (allowedRuntimes.includes(runtime) || runtimesSoFar(record).includes(runtime)) return undefined;
  const path = "spec.runtimeClassName";
  if (!runtimes.includes(runtime)) return oneOf(...allowedRuntimes)(runtime, path);
  const namespace = pod.metadata?.namespace ?? "";
  const allowed = allowedRuntimes.length > 0 ? allowedRuntimes.join(", ") : "none of this machine";
  return refuse(
    path,
    `runtime "${runtime}" is not allowed in namespace "${namespace}"; allowed: ${allowed}. The operator of the box can ` +
      `allow it with the annotation ${allowedRuntimesAnnotation} of the Namespace, or for all with node.allowedRuntimes in config.json`,
  );
}

function wantedRuntime({ spec }: Pod, { defaultRuntime }: NodeRules): string {
  return spec?.runtimeClassName ?? defaultRuntime;
}

/** Whether the Pod's users are none of the machine's because a user namespace keeps them apart. */
export function hasUserNamespace({ spec }: Pod, runtime: string, rules: NodeRules): boolean {
  if (!rules.ownUsers.includes(runtime) || hasOwnKernel(runtime, rules)) return false;
  const all = [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])];
  // Root of the machine in all but name is root of the machine.
  const isPrivileged = all.some(({ securityContext }) => securityContext?.privileged === true);
  return spec?.hostUsers === undefined ? !isPrivileged : !spec.hostUsers;
}

/** Whether the runtime gives each sandbox its own kernel, and with it its own users and processes. */
export function hasOwnKernel(runtime: string, { ownKernels }: NodeRules): boolean {
  return ownKernels.includes(runtime);
}

/**
 * Why this node cannot run an ephemeral container, or undefined. The Pod continues either way. SYS_PTRACE is accepted and
 * dropped where it is not allowed: see `withoutTracing`.
 */
export function unsupportedEphemeral(pod: Pod, name: string, { allow }: NodeRules): string | undefined {
  const all = pod.spec?.ephemeralContainers ?? [];
  const index = all.findIndex((one) => one.name === name);
  const path = `spec.ephemeralContainers[${index}]`;
  const refusal =
    object({ ...containerRule(allow, { tracing: true }), targetContainerName: label })(all[index] ?? {}, path) ??
    containerProblem(pod, all[index] as Container, path);
  return refusal === undefined ? undefined : wording(pod, refusal);
}

function wording({ metadata }: Pod, { path, message }: Refusal): string {
  return `Cannot run Pod "${metadata?.namespace}/${metadata?.name}": ${path}: ${message}`;
}

/** `hostUsers: true` needs the operator's permission where the runtime supports user namespaces. */
function usersProblem(pod: Pod, rules: NodeRules): Refusal | undefined {
  const runtime = wantedRuntime(pod, rules);
  const { ownUsers, allow } = rules;
  const hasUsers = ownUsers.includes(runtime);
  if (pod.spec?.hostUsers === true && hasUsers && !hasOwnKernel(runtime, rules) && !allow.hostUsers) {
    return refuse("spec.hostUsers", "true is not allowed by this node's configuration");
  }
  if (pod.spec?.hostUsers !== false || hasUsers) return undefined;
  const others = ownUsers.length > 0 ? `; supported with ${ownUsers.join(", ")}` : "";
  return refuse("spec.hostUsers", `false is not supported by this node with runtime "${runtime}"${others}`);
}

/** Checks that involve more than one field. */
function inconsistency(pod: Pod): Refusal | undefined {
  const { containers = [], initContainers = [] } = pod.spec ?? {};
  if (containers.length === 0) return refuse("spec.containers", "must name a container");
  const unknown = pod.spec?.volumes?.findIndex((volume) => kindOf(volume) === undefined) ?? -1;
  if (unknown >= 0) return refuse(`spec.volumes[${unknown}]`, "has no volume source that this node supports");
  const names = new Set<string>();
  const lists = [
    ["spec.initContainers", initContainers],
    ["spec.containers", containers],
  ] as const;
  for (const [where, members] of lists) {
    for (const [index, one] of members.entries()) {
      const path = `${where}[${index}]`;
      if (!one.name) return refuse(`${path}.name`, "is missing");
      if (names.has(one.name)) return refuse(`${path}.name`, "is used by another container");
      names.add(one.name);
      const problem = containerProblem(pod, one, path);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function containerProblem({ spec }: Pod, one: Container, path: string): Refusal | undefined {
  const missing =
    one.volumeMounts?.findIndex(({ name }) => !spec?.volumes?.some((volume) => volume.name === name)) ?? -1;
  if (missing >= 0) return refuse(`${path}.volumeMounts[${missing}].name`, "is not a volume of this Pod");
  const user = one.securityContext?.runAsUser ?? spec?.securityContext?.runAsUser;
  if ((one.securityContext?.runAsNonRoot ?? spec?.securityContext?.runAsNonRoot) && user === 0) {
    return refuse(`${path}.securityContext.runAsUser`, "is root, which runAsNonRoot forbids");
  }
  return undefined;
}
