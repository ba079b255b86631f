import type { Pod } from "@agent-sandbox/api";
import { isSafeUid } from "../layout.ts";
import { addableCapabilities, capabilityName } from "../oci/capabilities.ts";
import { downwardFields } from "../oci/environment.ts";
import { amountOf } from "../oci/quantity.ts";
import { anything, list, matching, object, oneOf, type Refusal, type Rule, refuse, satisfying } from "./field-rules.ts";
import type { Problem } from "./status.ts";

const off = oneOf(false);
const label = matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "a DNS label");
const text = satisfying((value) => typeof value === "string" && !value.includes("\0"), "a text without NUL");
const id = satisfying(
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31,
  "a user or group id",
);
const amount = satisfying((value) => (amountOf(value as string) ?? -1) > 0, "a quantity above zero");
const ipAddress = matching(/^[0-9a-fA-F.:]{2,45}$/, "an IP address");
const hostName = matching(/^[A-Za-z0-9._-]{1,253}$/, "a host name");
const resources = object({ cpu: amount, memory: amount });

const capability = satisfying(
  (value) => typeof value === "string" && addableCapabilities.includes(capabilityName(value)),
  `a capability a sandbox may have (${addableCapabilities.map((name) => name.slice(4)).join(", ")})`,
);
/** The sandbox's own file systems of the kernel must not be covered, nor its root. */
const mountPath: Rule = satisfying(
  (value) =>
    typeof value === "string" &&
    /^\/[^\0:]+$/.test(value) &&
    !/(^|\/)\.\.?(\/|$)/.test(value) &&
    !/^\/+(dev|proc|sys)?(\/|$)/.test(value),
  'an absolute path outside "/dev", "/proc" and "/sys"',
);

const environmentVariable = object({
  name: matching(/^[^=\0]+$/, "a variable name"),
  value: text,
  valueFrom: object({ fieldRef: object({ apiVersion: oneOf("v1"), fieldPath: oneOf(...downwardFields) }) }),
});

const container = object({
  name: label,
  image: text,
  imagePullPolicy: anything,
  command: list(text, 10_000),
  args: list(text, 10_000),
  workingDir: matching(/^\/[^\0]*$/, "an absolute path"),
  env: list(environmentVariable, 10_000),
  // Ports are for people to read; every port of a Pod can be reached from this machine. A port of the machine cannot be given.
  ports: list(object({ name: anything, containerPort: anything, protocol: anything }), 1000),
  resources: object({ limits: resources, requests: resources }),
  securityContext: object({
    runAsUser: id,
    runAsGroup: id,
    runAsNonRoot: anything,
    readOnlyRootFilesystem: oneOf(true, false),
    allowPrivilegeEscalation: oneOf(true, false),
    privileged: off,
    procMount: oneOf("Default"),
    seccompProfile: object({ type: oneOf("RuntimeDefault") }),
    capabilities: object({ add: list(capability, 64), drop: list(text, 64) }),
  }),
  stdin: off,
  stdinOnce: off,
  tty: off,
  terminationMessagePath: oneOf("/dev/termination-log"),
  terminationMessagePolicy: oneOf("File"),
  volumeMounts: list(
    object({ name: label, mountPath, readOnly: oneOf(true, false), mountPropagation: oneOf("None") }),
    100,
  ),
});

/** What the scheduler has dealt with, and what has no meaning on a node without a registry, tokens or Services. */
const settledElsewhere: Readonly<Record<string, Rule>> = Object.fromEntries(
  [
    "affinity automountServiceAccountToken enableServiceLinks imagePullSecrets nodeName nodeSelector overhead",
    "preemptionPolicy priority priorityClassName schedulerName serviceAccount serviceAccountName tolerations",
    "topologySpreadConstraints",
  ].flatMap((line) => line.split(" ").map((name) => [name, anything])),
);

function specRule(runtimes: readonly string[]): Rule {
  return object({
    ...settledElsewhere,
    containers: list(container, 1),
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
    hostUsers: oneOf(true),
    hostname: label,
    os: object({ name: oneOf("linux") }),
    restartPolicy: oneOf("Always", "OnFailure", "Never"),
    runtimeClassName: oneOf(...runtimes),
    securityContext: object({
      runAsUser: id,
      runAsGroup: id,
      runAsNonRoot: oneOf(true, false),
      supplementalGroups: list(id, 100),
      seccompProfile: object({ type: oneOf("RuntimeDefault") }),
    }),
    setHostnameAsFQDN: off,
    shareProcessNamespace: off,
    subdomain: label,
    terminationGracePeriodSeconds: satisfying(
      (value) => Number.isInteger(value) && Number(value) >= 0,
      "a number of seconds",
    ),
    volumes: list(object({ name: label, emptyDir: object({}) }), 100),
  });
}

/** Why this node cannot run a Pod as it is written, or undefined. The first field in question is named by its path. */
export function unsupportedField(pod: Pod, runtimes: readonly string[]): Problem | undefined {
  const refusal = isSafeUid(pod.metadata?.uid ?? "")
    ? (specRule(runtimes)(pod.spec ?? {}, "spec") ?? inconsistency(pod))
    : refuse("metadata.uid", "is not a UID");
  if (refusal === undefined) return undefined;
  return {
    reason: "CreateContainerConfigError",
    message: `Cannot run Pod "${pod.metadata?.namespace}/${pod.metadata?.name}": ${refusal.path}: ${refusal.message}`,
  };
}

/** What single fields cannot tell. */
function inconsistency(pod: Pod): Refusal | undefined {
  const spec = pod.spec;
  if (!spec?.containers?.length) return refuse("spec.containers", "must name a container");
  for (const [index, one] of spec.containers.entries()) {
    const path = `spec.containers[${index}]`;
    if (!one.name) return refuse(`${path}.name`, "is missing");
    const missing =
      one.volumeMounts?.findIndex(
        ({ name }) => !spec.volumes?.some((volume) => volume.name === name && volume.emptyDir),
      ) ?? -1;
    if (missing >= 0) return refuse(`${path}.volumeMounts[${missing}].name`, "names no emptyDir volume of this Pod");
    const user = one.securityContext?.runAsUser ?? spec.securityContext?.runAsUser ?? 0;
    if ((one.securityContext?.runAsNonRoot ?? spec.securityContext?.runAsNonRoot) && user === 0) {
      return refuse(`${path}.securityContext.runAsUser`, "is root, and runAsNonRoot forbids that");
    }
  }
  return undefined;
}
