import type { Container, Pod } from "@agent-sandbox/api";

/** The downward API: the fields of a Pod that its own environment may name. */
const fields: Readonly<Record<string, (pod: Pod, address: string) => string>> = {
  "metadata.name": (pod) => pod.metadata?.name ?? "",
  "metadata.namespace": (pod) => pod.metadata?.namespace ?? "",
  "metadata.uid": (pod) => pod.metadata?.uid ?? "",
  "spec.nodeName": (pod) => pod.spec?.nodeName ?? "",
  "status.podIP": (_, address) => address,
};

export const downwardFields: readonly string[] = Object.keys(fields);

export type Environment = ReadonlyMap<string, string>;

/** The image's variables, then the Pod's in order; a value may refer to variables set before it. */
export function environmentFor(pod: Pod, container: Container, address: string, image: Environment): Environment {
  const environment = new Map([...image, ["HOSTNAME", hostnameOf(pod)]]);
  for (const { name, value, valueFrom } of container.env ?? []) {
    const path = valueFrom?.fieldRef?.fieldPath;
    const read = path === undefined ? undefined : fields[path];
    environment.set(name, read === undefined ? expand(value ?? "", environment) : read(pod, address));
  }
  return environment;
}

/** `$(NAME)` becomes the variable's value, `$$(NAME)` the text `$(NAME)`; an unknown name stays as it is written. */
export function expand(text: string, environment: Environment): string {
  return text.replaceAll(/\$(\$|\(([^)]*)\))/g, (whole, mark: string, name: string | undefined) =>
    mark === "$" ? "$" : (environment.get(name ?? "") ?? whole),
  );
}

export function hostnameOf(pod: Pod): string {
  return (pod.spec?.hostname ?? pod.metadata?.name ?? "").slice(0, 63).replace(/[.-]+$/, "");
}
