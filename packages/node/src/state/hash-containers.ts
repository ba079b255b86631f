import { createHash } from "node:crypto";
import { type Container, type Pod, runtimeIdentity } from "@agent-sandbox/api";

/**
 * A hash of what the saved processes were started with. A Pod with another hash cannot continue from the image: its containers
 * would run what the spec no longer says. Resources, probes and hooks may change.
 */
export function hashContainers({ spec }: Pod): string {
  const content = {
    shareProcessNamespace: spec?.shareProcessNamespace === true,
    runtimeClassName: spec?.runtimeClassName,
    securityContext: spec?.securityContext,
    init: (spec?.initContainers ?? []).map(partOf),
    main: (spec?.containers ?? []).map(partOf),
  };
  return createHash("sha256").update(canonical(content)).digest("hex");
}

/** They differ in a fork, which sandboxd handles. */
const identityVariables: readonly string[] = Object.values(runtimeIdentity);

function partOf(container: Container): Partial<Container> {
  const { name, image, command, args, workingDir, env, envFrom, volumeMounts, securityContext } = container;
  const { restartPolicy, stdin, tty } = container;
  return {
    name,
    image,
    command,
    args,
    workingDir,
    env: env?.filter((variable) => !identityVariables.includes(variable.name)),
    envFrom,
    volumeMounts,
    securityContext,
    restartPolicy,
    stdin,
    tty,
  } as Partial<Container>;
}

/** JSON with sorted keys, so that the order in which a client wrote the fields does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, one: unknown) =>
    typeof one === "object" && one !== null && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );
}
