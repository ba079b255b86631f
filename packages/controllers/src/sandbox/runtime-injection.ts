import type { Container, EnvVar, PodSpec, Sandbox } from "@agent-sandbox/api";
import type { InjectedRuntime } from "./settings.ts";

const runtimeVolume = "agent-sandbox-runtime";
const tokenVolume = "agent-sandbox-token";
const runtimePath = "/opt/agent-sandbox";
const tokenPath = "/run/agent-sandbox";

/** Nobody's: everybody may write to an emptyDir, and it is mounted read-only where it is used. */
const installerUser = 65532;

/** The key of the token in its Secret. */
export const tokenKey = "token";
/** 253, the longest name of a Secret, less `-runtime`. */
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

/** The Pod's spec with the daemon as the first process of the first container, and the user's command as its child. */
export function injectRuntime(spec: PodSpec, runtime: InjectedRuntime, sandbox: Sandbox): PodSpec {
  const [first, ...others] = spec.containers;
  if (first === undefined) return spec;
  const kept = (spec.volumes ?? []).filter(({ name }) => name !== runtimeVolume && name !== tokenVolume);
  const isInit = runtime.delivery === "InitContainer";
  // Newer than the types: a volume that is an image.
  const image = { image: { reference: runtime.image, pullPolicy: "IfNotPresent" } };
  return {
    ...spec,
    volumes: [
      ...kept,
      { name: runtimeVolume, ...(isInit ? { emptyDir: {} } : image) },
      { name: tokenVolume, secret: { secretName: tokenSecretName(sandbox), defaultMode: tokenMode(spec, first) } },
    ],
    ...(isInit && { initContainers: [installer(runtime), ...(spec.initContainers ?? [])] }),
    containers: [supervised(first, sandbox), ...others],
  };
}

/**
 * Files of a Secret are root's. A daemon that is said to run as somebody else could not read its token, unless the Pod has
 * an `fsGroup`: the node then lets that group read.
 */
function tokenMode({ securityContext: shared }: PodSpec, { securityContext: own }: Container): number {
  const user = own?.runAsUser ?? shared?.runAsUser;
  const isRoot = user === undefined ? !(own?.runAsNonRoot ?? shared?.runAsNonRoot) : user === 0;
  return isRoot || shared?.fsGroup !== undefined ? 0o400 : 0o444;
}

/**
 * What the daemon is told. It is the Sandbox's own name and UID, which stay when a claim takes the Sandbox out of a pool:
 * a Pod that was made before is right after it.
 */
function environmentOf({ metadata: { name = "", namespace = "", uid = "" } }: Sandbox): EnvVar[] {
  return [
    { name: "SANDBOXD_TOKEN_FILE", value: `${tokenPath}/${tokenKey}` },
    { name: "SANDBOXD_SANDBOX_NAME", value: name },
    { name: "SANDBOXD_SANDBOX_NAMESPACE", value: namespace },
    { name: "SANDBOXD_SANDBOX_UID", value: uid },
  ];
}

function supervised(container: Container, sandbox: Sandbox): Container {
  const { args: _, ...rest } = container;
  const child = [...(container.command ?? []), ...(container.args ?? [])];
  const mounts = (container.volumeMounts ?? []).filter(
    ({ name, mountPath }) =>
      name !== runtimeVolume && name !== tokenVolume && mountPath !== runtimePath && mountPath !== tokenPath,
  );
  const told = environmentOf(sandbox);
  const isTold = (name: string): boolean => told.some((variable) => variable.name === name);
  return {
    ...rest,
    command: [`${runtimePath}/sandboxd`, "run", ...(child.length > 0 ? ["--", ...child] : [])],
    env: [...(container.env ?? []).filter(({ name }) => !isTold(name)), ...told],
    volumeMounts: [
      ...mounts,
      { name: runtimeVolume, mountPath: runtimePath, readOnly: true },
      { name: tokenVolume, mountPath: tokenPath, readOnly: true },
    ],
  };
}

/** Before the user's own: they may want what it installs. */
function installer({ image }: InjectedRuntime): Container {
  return {
    name: runtimeVolume,
    image,
    command: ["/sandboxd", "install", runtimePath],
    volumeMounts: [{ name: runtimeVolume, mountPath: runtimePath }],
    // As strict as any namespace may ask for: a Pod is not to be refused for what was added to it.
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
