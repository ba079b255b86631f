import { apiServerAddress, apiServerPort, type Container, type Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { type Content, configMapContent, secretContent } from "../volume/object-content.ts";
import type { SourceSnapshot } from "../volume/sources.ts";
import { type DownwardFacts, downwardField, resourceField } from "./downward.ts";

export type Environment = ReadonlyMap<string, string>;

export interface EnvironmentInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly image: Environment;
  readonly facts: DownwardFacts;
  readonly sources: Pick<SourceSnapshot, "configMap" | "secret">;
  /** Whether clients of the API server in the container should find it. Default: false. */
  readonly hasApiAccess?: boolean;
}

type EnvVar = NonNullable<Container["env"]>[number];

/** The variables by which client libraries find the API server from inside a cluster. */
const apiVariables: readonly (readonly [string, string])[] = [
  ["KUBERNETES_SERVICE_HOST", apiServerAddress],
  ["KUBERNETES_SERVICE_PORT", String(apiServerPort)],
  ["KUBERNETES_SERVICE_PORT_HTTPS", String(apiServerPort)],
];

/** The image's variables, then those of `envFrom`, then `env` in order. A value may refer to earlier variables. */
export function environmentFor(input: EnvironmentInput): Environment {
  const { pod, container, image } = input;
  const known = input.hasApiAccess === true ? apiVariables : [];
  const environment = new Map([...image, ...known, ["HOSTNAME", hostnameOf(pod)], ...fromObjects(input)]);
  for (const variable of container.env ?? []) {
    const value =
      variable.valueFrom === undefined ? expand(variable.value ?? "", environment) : lookUp(variable, input);
    if (value !== undefined) environment.set(variable.name, value);
  }
  return environment;
}

/** Like the kubelet, skips keys that are not valid variable names. */
function fromObjects({ container, sources }: EnvironmentInput): [string, string][] {
  return (container.envFrom ?? []).flatMap(({ prefix = "", configMapRef, secretRef }) => {
    const reference = configMapRef ?? secretRef;
    const name = reference?.name ?? "";
    const content = contentOf({ isSecret: configMapRef === undefined, name }, sources);
    if (content === undefined && !reference?.optional) throw missing(configMapRef === undefined, name);
    return [...(content ?? [])]
      .map(([key, bytes]): [string, string] => [`${prefix}${key}`, bytes.toString()])
      .filter(([key]) => /^[^=\0]+$/.test(key));
  });
}

/** The value of `valueFrom`; undefined if it is missing and optional. */
function lookUp({ valueFrom }: EnvVar, { pod, container, facts, sources }: EnvironmentInput): string | undefined {
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef } = valueFrom ?? {};
  if (fieldRef !== undefined) return downwardField(fieldRef.fieldPath)?.(pod, facts) ?? "";
  if (resourceFieldRef !== undefined) {
    const name = resourceFieldRef.containerName;
    const other = [...(pod.spec?.initContainers ?? []), ...(pod.spec?.containers ?? [])].find(
      (one) => one.name === name,
    );
    return resourceField(resourceFieldRef, name ? other : container, facts);
  }
  const reference = configMapKeyRef ?? secretKeyRef;
  const isSecret = configMapKeyRef === undefined;
  const name = reference?.name ?? "";
  const content = contentOf({ isSecret, name }, sources);
  const bytes = content?.get(reference?.key ?? "");
  if (bytes !== undefined) return bytes.toString();
  if (reference?.optional) return undefined;
  if (content === undefined) throw missing(isSecret, name);
  const what = isSecret ? "Secret" : "ConfigMap";
  const message = `couldn't find key ${reference?.key} in ${what} ${pod.metadata?.namespace}/${name}`;
  throw new NodeError("CreateContainerConfigError", message);
}

function contentOf(
  { isSecret, name }: { readonly isSecret: boolean; readonly name: string },
  sources: EnvironmentInput["sources"],
): Content | undefined {
  return isSecret ? secretContent(sources.secret(name)) : configMapContent(sources.configMap(name));
}

function missing(isSecret: boolean, name: string): NodeError {
  return new NodeError("CreateContainerConfigError", `${isSecret ? "secret" : "configmap"} "${name}" not found`);
}

/** Replaces `$(NAME)` by the variable's value and `$$(NAME)` by `$(NAME)`. Unknown names stay unchanged. */
export function expand(text: string, environment: Environment): string {
  let result = "";
  let from = 0;
  let close = 0;
  for (let mark = text.indexOf("$"); mark >= 0; mark = text.indexOf("$", from)) {
    result += text.slice(from, mark);
    from = mark + 1;
    if (text[from] === "$") from += 1;
    else if (text[from] === "(") {
      // Search for each ")" once, so that a text with many "$(" takes linear time.
      if (close >= 0 && close < from) close = text.indexOf(")", from);
      if (close >= 0) {
        result += environment.get(text.slice(from + 1, close)) ?? text.slice(mark, close + 1);
        from = close + 1;
        continue;
      }
    }
    result += "$";
  }
  return result + text.slice(from);
}

export function hostnameOf(pod: Pod): string {
  return (pod.spec?.hostname ?? pod.metadata?.name ?? "").slice(0, 63).replace(/[.-]+$/, "");
}
