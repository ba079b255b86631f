import { addableCapabilities, capabilityName, ownKernelCapabilities } from "../oci/capabilities.ts";
import { downwardField } from "../oci/downward.ts";
import { amountOf } from "../oci/quantity.ts";
import { objectKey, objectName } from "../volume/payload-rules.ts";
import { anything, list, matching, object, oneOf, type Rule, refuse, satisfying } from "./field-rules.ts";
import type { Allowances } from "./observed.ts";
import { lifecycle, probe } from "./probe-rules.ts";

export const off: Rule = oneOf(false);
/** For fields that the operator can allow: see `Allowances`. */
const notAllowed: Rule = (value, path) =>
  value === false ? undefined : refuse(path, "is not allowed by this node's configuration");
export const flag: Rule = oneOf(true, false);
export const label: Rule = matching(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, "a DNS label");
export const text: Rule = satisfying(
  (value) => typeof value === "string" && !value.includes("\0"),
  "a text without NUL",
);
export const id: Rule = satisfying(
  (value) => Number.isInteger(value) && Number(value) >= 0 && Number(value) < 2 ** 31,
  "a user or group id",
);
const amount = satisfying((value) => (amountOf(value as string) ?? -1) > 0, "a quantity above zero");
const limits = object({ cpu: amount, memory: amount, "ephemeral-storage": anything });
/** A request of zero reserves nothing, as in Kubernetes. */
const request = satisfying((value) => (amountOf(value as string) ?? -1) >= 0, "a quantity");
const requests = object({ cpu: request, memory: request, "ephemeral-storage": anything });

function capability({ tracing }: { readonly tracing: boolean }): Rule {
  const names = tracing ? [...addableCapabilities, ...ownKernelCapabilities] : addableCapabilities;
  return satisfying(
    (value) => typeof value === "string" && names.includes(capabilityName(value)),
    `a capability a sandbox may have here (${names.map((name) => name.slice(4)).join(", ")})`,
  );
}
/** An absolute path without `.` and `..`, so that paths can be compared as strings. */
const isOwnPath = (value: unknown): value is string =>
  typeof value === "string" &&
  value.length < 4096 &&
  /^\/[^\0:]+$/.test(value) &&
  !value.split("/").some((name) => name === "." || name === "..");

const mountPath: Rule = satisfying(
  (value) => isOwnPath(value) && !/^\/+(dev|proc|sys)?(\/|$)/.test(value.replace(/^\/+dev\/+shm(?=\/|$)/, "/shm")),
  'an absolute path outside "/dev" (but for "/dev/shm"), "/proc" and "/sys"',
);
const subPath = satisfying(
  (value) => typeof value === "string" && !/^\/|\0/.test(value) && !value.split("/").includes(".."),
  'a relative path without ".."',
);
/** Names in /dev where runtimes create devices and links. A mount there would change what the runtime uses. */
const deviceNames =
  "console core fd full kmsg kvm mem mqueue null ptmx pts random shm stderr stdin stdout tty urandom zero".split(" ");
const messageFile = satisfying((value) => {
  if (!isOwnPath(value) || /^\/+(proc|sys)?(\/|$)/.test(value)) return false;
  const [, device] = /^\/+dev(?:\/+([^/]*))?/.exec(value) ?? [undefined, "file"];
  return device !== undefined && device !== "" && !deviceNames.includes(device);
}, 'an absolute path outside "/proc", "/sys" and the devices of "/dev"');

const ownField = satisfying((path) => downwardField(String(path)) !== undefined, "a field of the downward API");
const keyOf = object({ name: objectName, key: objectKey, optional: flag });
const environmentVariable = object({
  name: matching(/^[^=\0]+$/, "a variable name"),
  value: text,
  valueFrom: object({
    fieldRef: object({ apiVersion: oneOf("v1"), fieldPath: ownField }),
    resourceFieldRef: object({ containerName: label, resource: text, divisor: anything }),
    configMapKeyRef: keyOf,
    secretKeyRef: keyOf,
  }),
});
const wholeObject = object({ name: objectName, optional: flag });

/** Containers without seccomp are allowed only where privileged containers are. */
export function seccompRule({ privileged }: Allowances): Rule {
  return object({ type: privileged ? oneOf("RuntimeDefault", "Unconfined") : oneOf("RuntimeDefault") });
}

function securityContext(allow: Allowances, rights: { readonly tracing: boolean }): Rule {
  return object({
    runAsUser: id,
    runAsGroup: id,
    runAsNonRoot: flag,
    readOnlyRootFilesystem: flag,
    allowPrivilegeEscalation: flag,
    privileged: allow.privileged ? flag : notAllowed,
    procMount: oneOf("Default"),
    seccompProfile: seccompRule(allow),
    capabilities: object({ add: list(allow.privileged ? text : capability(rights), 64), drop: list(text, 64) }),
  });
}

export function containerRule(allow: Allowances, rights: { readonly tracing: boolean }): Record<string, Rule> {
  return {
    name: label,
    image: text,
    imagePullPolicy: oneOf("Always", "IfNotPresent", "Never"),
    command: list(text, 10_000),
    args: list(text, 10_000),
    workingDir: matching(/^\/[^\0]*$/, "an absolute path"),
    env: list(environmentVariable, 10_000),
    envFrom: list(object({ prefix: text, configMapRef: wholeObject, secretRef: wholeObject }), 1000),
    // Informational, as in Kubernetes. hostPort is not listed, so it is refused.
    ports: list(object({ name: anything, containerPort: anything, protocol: anything }), 1000),
    resources: object({ limits, requests }),
    securityContext: securityContext(allow, rights),
    startupProbe: probe,
    readinessProbe: probe,
    livenessProbe: probe,
    lifecycle,
    stdin: flag,
    stdinOnce: flag,
    tty: flag,
    terminationMessagePath: messageFile,
    terminationMessagePolicy: oneOf("File", "FallbackToLogsOnError"),
    volumeMounts: list(
      object({
        name: label,
        mountPath,
        readOnly: flag,
        recursiveReadOnly: oneOf("Disabled", "IfPossible"),
        mountPropagation: oneOf("None"),
        subPath,
        subPathExpr: subPath,
      }),
      100,
    ),
  };
}
