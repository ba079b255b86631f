import { ApiError, badRequest, notFound } from "../api-error.ts";
import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import type { ResourcePath } from "../request/request-path.ts";
import { parsePort } from "./forward-port.ts";

/** The port of a Pod to which a request is proxied. */
export interface ProxyTarget {
  readonly namespace: string;
  readonly pod: string;
  readonly port: number;
  readonly encrypted: boolean;
}

export interface ProxyName {
  readonly encrypted: boolean;
  readonly name: string;
  /** The number or name of a port, or empty for the first port. */
  readonly port: string;
}

/** Parses `name`, `name:port` and `scheme:name:port` in the path before `/proxy`. */
export function parseProxyName(text: string): ProxyName {
  const parts = text.split(":");
  const [scheme = "", name = "", port = ""] = parts.length > 2 ? parts : ["", ...parts];
  if (parts.length > 3 || name === "" || !["", "http", "https"].includes(scheme)) {
    throw badRequest(`invalid request "${text}": want name, name:port or scheme:name:port with http or https`);
  }
  return { encrypted: scheme === "https", name, port };
}

/** Looks up stored objects. */
export interface ProxyView {
  pod(namespace: string, name: string): ApiObject | undefined;
  service(namespace: string, name: string): ApiObject | undefined;
  pods(namespace: string): Iterable<ApiObject>;
}

/** Returns `undefined` when the path is not a proxy path. */
export function proxyTarget(path: ResourcePath, view: ProxyView): ProxyTarget | undefined {
  const { apiVersion, plural, namespace, name, subresource } = path;
  if (subresource !== "proxy" || apiVersion !== "v1" || namespace === undefined || name === undefined) return undefined;
  if (plural === "pods") return podTarget(parseProxyName(name), namespace, view);
  return plural === "services" ? serviceTarget(parseProxyName(name), namespace, view) : undefined;
}

function podTarget({ name, port, encrypted }: ProxyName, namespace: string, view: ProxyView): ProxyTarget {
  const pod = view.pod(namespace, name);
  if (pod === undefined) throw notFound({ group: "", plural: "pods", name });
  const number = port === "" ? firstPort(pod) : parsePort(port);
  if (number === undefined) throw badRequest(`invalid port "${port}" of pod "${name}"`);
  return { namespace, pod: name, port: number, encrypted };
}

function firstPort(pod: ApiObject): number {
  for (const container of objectsAt(pod, "spec", "containers")) {
    const [port] = objectsAt(container, "ports");
    if (typeof port?.["containerPort"] === "number") return port["containerPort"];
  }
  return 80;
}

/** The first ready Pod of a Service. */
function serviceTarget({ name, port, encrypted }: ProxyName, namespace: string, view: ProxyView): ProxyTarget {
  const service = view.service(namespace, name);
  if (service === undefined) throw notFound({ group: "", plural: "services", name });
  const wanted = portOf(service, port);
  if (wanted === undefined) throw unavailable(`no service port "${port}" found for service "${name}"`);
  const selector = valueAt(service, "spec", "selector");
  for (const pod of view.pods(namespace)) {
    if (!isReady(pod) || !isJsonObject(selector) || !matches(pod, selector)) continue;
    const number = targetPort(wanted, pod);
    if (number !== undefined) return { namespace, pod: pod.metadata.name ?? "", port: number, encrypted };
  }
  throw unavailable(`no endpoints available for service "${name}"`);
}

const unavailable = (why: string): ApiError => new ApiError("ServiceUnavailable", why);

function portOf(service: ApiObject, port: string): JsonObject | undefined {
  const ports = objectsAt(service, "spec", "ports");
  if (port === "") return ports.length === 1 ? ports[0] : ports.find(({ name = "" }) => name === "");
  return ports.find((each) => each["name"] === port || String(each["port"]) === port);
}

function targetPort({ targetPort: target, port }: JsonObject, pod: ApiObject): number | undefined {
  const wanted = target ?? port;
  if (typeof wanted === "number") return wanted;
  for (const container of objectsAt(pod, "spec", "containers")) {
    const named = objectsAt(container, "ports").find(({ name }) => name === wanted);
    if (typeof named?.["containerPort"] === "number") return named["containerPort"];
  }
  return undefined;
}

const isReady = (pod: ApiObject): boolean =>
  stringAt(pod, "status", "phase") === "Running" &&
  pod.metadata.deletionTimestamp === undefined &&
  objectsAt(pod, "status", "conditions").some(({ type, status }) => type === "Ready" && status === "True");

function matches({ metadata }: ApiObject, selector: JsonObject): boolean {
  const wanted = Object.entries(selector);
  return wanted.length > 0 && wanted.every(([key, value]) => metadata.labels?.[key] === value);
}
