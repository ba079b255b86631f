import {
  type Container,
  type EnvVar,
  type PodSpec,
  runtimeIdentity,
  runtimeTokenKey,
  runtimeTokenVolume,
  type Sandbox,
} from "@agent-sandbox/api";
import type { InjectedRuntime } from "./settings.ts";

const runtimeVolume = "agent-sandbox-runtime";
const runtimePath = "/opt/agent-sandbox";
/** Not below /run/agent-sandbox, where a node mounts the environment file of a Sandbox whose memory is kept. */
const tokenPath = "/run/agent-sandbox-token";

/** Any user may write to an emptyDir, so the installer needs no privileges. The containers mount the volume read-only. */
const installerUser = 65532;

/** 253, the limit for the name of a Secret, minus the length of `-runtime`. */
const longestName = 245;

export function tokenSecretName({ metadata }: Sandbox): string {
  return `${metadata.name}-runtime`;
}

/** Why the daemon cannot be injected, or undefined. */
export function injectionProblem(sandbox: Sandbox, runtime: InjectedRuntime | undefined): string | undefined {
  const [first] = sandbox.spec.podTemplate.spec.containers;
  if (runtime === undefined) {
    return 'Cannot use spec.runtime "Injected": this installation has no runtime image. Configure one, or remove the field';
  }
  if ((sandbox.metadata.name ?? "").length > longestName) {
    return `Cannot use spec.runtime "Injected": the Sandbox's name has more than ${longestName} characters`;
  }
  if (first === undefined) return 'Cannot use spec.runtime "Injected": spec.podTemplate.spec.containers is empty';
  if (first.args?.length && !first.command?.length) {
    return (
      'Cannot use spec.runtime "Injected" with args alone: the image\'s own entrypoint is not known here. ' +
      "Write spec.podTemplate.spec.containers[0].command too"
    );
  }
  return undefined;
}

/** Makes the daemon the first process of the first container, with the user's command as its child. */
export function injectRuntime(spec: PodSpec, runtime: InjectedRuntime, sandbox: Sandbox): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined) return spec;
  const kept = (spec.volumes ?? []).filter(({ name }) => name !== runtimeVolume && name !== runtimeTokenVolume);
  const isInit = runtime.delivery === "InitContainer";
  // Image volumes are newer than the types.
  const image = { image: { reference: runtime.image, pullPolicy: runtime.pullPolicy ?? "IfNotPresent" } };
  return {
    ...spec,
    volumes: [
      ...kept,
      { name: runtimeVolume, ...(isInit ? { emptyDir: {} } : image) },
      {
        name: runtimeTokenVolume,
        secret: { secretName: tokenSecretName(sandbox), defaultMode: tokenMode(spec, first) },
      },
    ],
    ...(isInit && { initContainers: [installer(runtime), ...(spec.initContainers ?? [])] }),
    containers: [supervised(first, sandbox), ...others],
  };
}

/**
 * The files of a Secret belong to root. A daemon that runs as another user can read its token only if the Pod has an `fsGroup`, or
 * if everybody can.
 */
function tokenMode({ securityContext: shared }: PodSpec, { securityContext: own }: Container): number {
  const user = own?.runAsUser ?? shared?.runAsUser;
  const isRoot = user === undefined ? !(own?.runAsNonRoot ?? shared?.runAsNonRoot) : user === 0;
  return isRoot || shared?.fsGroup !== undefined ? 0o400 : 0o444;
}

/** The name and UID of the Sandbox do not change when a claim adopts it from a pool, so the Pod of a pool member stays valid. */
function environmentOf({ metadata: { name = "", namespace = "", uid = "" } }: Sandbox): EnvVar[] {
  return [
    { name: "SANDBOXD_TOKEN_FILE", value: `${tokenPath}/${runtimeTokenKey}` },
    { name: runtimeIdentity.name, value: name },
    { name: runtimeIdentity.namespace, value: namespace },
    { name: runtimeIdentity.uid, value: uid },
  ];
}

function supervised(container: Container, sandbox: Sandbox): Container {
  const { args: _, ...rest } = container;
  const child = [...(container.command ?? []), ...(container.args ?? [])];
  const mounts = (container.volumeMounts ?? []).filter(
    ({ name, mountPath }) =>
      name !== runtimeVolume && name !== runtimeTokenVolume && mountPath !== runtimePath && mountPath !== tokenPath,
  );
  const ours = environmentOf(sandbox);
  const isOurs = (name: string): boolean => ours.some((variable) => variable.name === name);
  return {
    ...rest,
    command: [`${runtimePath}/sandboxd`, "run", ...(child.length > 0 ? ["--", ...child] : [])],
    env: [...(container.env ?? []).filter(({ name }) => !isOurs(name)), ...ours],
    volumeMounts: [
      ...mounts,
      { name: runtimeVolume, mountPath: runtimePath, readOnly: true },
      { name: runtimeTokenVolume, mountPath: tokenPath, readOnly: true },
    ],
  };
}

/** Runs before the user's init containers, which may use the daemon. */
function installer({ image, pullPolicy = "IfNotPresent" }: InjectedRuntime): Container {
  return {
    name: runtimeVolume,
    image,
    imagePullPolicy: pullPolicy,
    command: ["/sandboxd", "install", runtimePath],
    volumeMounts: [{ name: runtimeVolume, mountPath: runtimePath }],
    // Satisfies the strictest Pod security standard, so that no namespace refuses the Pod because of this container.
    securityContext: {
      runAsUser: installerUser,
      runAsNonRoot: true,
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
      seccompProfile: { type: "RuntimeDefault" },
    },
  };
}
