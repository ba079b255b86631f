import type { Container, EnvVar, EnvVarsInjectionPolicy, PodSpec } from "@agent-sandbox/api";
import { errorSeen, type Outcome, type Problem } from "./problem.ts";

/** The Pod spec with a claim's environment variables, if the template's policy allows them. */
export function injectEnv(
  spec: PodSpec,
  env: readonly EnvVar[],
  policy: EnvVarsInjectionPolicy | undefined,
): Outcome<PodSpec> {
  if (env.length === 0) return { value: spec };
  if (policy !== "Allowed" && policy !== "Overrides") {
    return rejected("the template does not allow claims to set environment variables");
  }
  const byContainer = assign(spec, env);
  if ("problem" in byContainer) return byContainer;
  const initContainers = injectAll(spec.initContainers ?? [], byContainer.value, policy);
  const containers = injectAll(spec.containers, byContainer.value, policy);
  if ("problem" in initContainers) return initContainers;
  if ("problem" in containers) return containers;
  return {
    value: {
      ...spec,
      ...(spec.initContainers && { initContainers: initContainers.value }),
      containers: containers.value,
    },
  };
}

function rejected(message: string): { problem: Problem } {
  return { problem: { reason: "EnvVarsInjectionRejected", message } };
}

/** Variables without a container name are set in the first container, after those that name it. */
function assign(spec: PodSpec, env: readonly EnvVar[]): Outcome<ReadonlyMap<string, readonly EnvVar[]>> {
  const known = new Set([...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name));
  const first = spec.containers[0]?.name ?? "";
  const assigned = new Map<string, EnvVar[]>();
  for (const variable of env.toSorted((a, b) => Number(!a.containerName) - Number(!b.containerName))) {
    const target = variable.containerName || first;
    if (!known.has(target)) {
      const message = `Cannot set "${variable.name}": the template has no container "${target}"`;
      return { problem: errorSeen(message) };
    }
    assigned.set(target, [...(assigned.get(target) ?? []), variable]);
  }
  return { value: assigned };
}

function injectAll(
  containers: readonly Container[],
  byContainer: ReadonlyMap<string, readonly EnvVar[]>,
  policy: "Allowed" | "Overrides",
): Outcome<Container[]> {
  const result: Container[] = [];
  for (const container of containers) {
    const injected = injectOne(container, byContainer.get(container.name) ?? [], policy);
    if ("problem" in injected) return injected;
    result.push(injected.value);
  }
  return { value: result };
}

function injectOne(
  container: Container,
  variables: readonly EnvVar[],
  policy: "Allowed" | "Overrides",
): Outcome<Container> {
  if (variables.length === 0) return { value: container };
  // The names that `envFrom` sets are unknown here, and so is what would be overridden.
  if (policy === "Allowed" && container.envFrom?.length) {
    return rejected(`container "${container.name}" takes variables from elsewhere: the template must say Overrides`);
  }
  const env = [...(container.env ?? [])];
  for (const { name, value } of variables) {
    const at = env.findIndex((existing) => existing.name === name);
    if (at >= 0 && policy === "Allowed") {
      const message = `Cannot set "${name}": the template sets it in container "${container.name}" and does not say Overrides`;
      return { problem: errorSeen(message) };
    }
    if (at >= 0) env[at] = { name, value };
    else env.push({ name, value });
  }
  return { value: { ...container, env } };
}
