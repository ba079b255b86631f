import { type ApiObject, isJsonObject, type JsonObject, objectsAt, stringAt, valueAt } from "../api-object.ts";
import type { Store } from "../store/store.ts";
import type { WebhookAddress } from "./webhook-client.ts";

type Places = Pick<Store, "get">;

/** The address of a definition's webhook: its URL, or a current endpoint of its Service. Throws when there is none. */
export function webhookAddress(clientConfig: unknown, store: Places): WebhookAddress {
  const bundle = stringAt(clientConfig, "caBundle") ?? "";
  const text = Buffer.from(bundle, "base64").toString().trim();
  const authority = text === "" ? undefined : text;
  const service = valueAt(clientConfig, "service");
  if (!isJsonObject(service)) return { url: stringAt(clientConfig, "url") ?? "", authority };
  return { ...serviceAddress(service, store), authority };
}

function serviceAddress(reference: JsonObject, store: Places): Pick<WebhookAddress, "url" | "connectTo"> {
  const [name, namespace] = [stringAt(reference, "name") ?? "", stringAt(reference, "namespace") ?? ""];
  const port = typeof reference["port"] === "number" ? reference["port"] : 443;
  const path = stringAt(reference, "path") ?? "";
  const url = `https://${name}.${namespace}.svc:${port}${path.startsWith("/") ? path : `/${path}`}`;
  const service = store.get("services", `${namespace}/${name}`)?.object;
  if (service === undefined) throw new Error(`service ${JSON.stringify(name)} not found`);
  const servicePort = objectsAt(service, "spec", "ports").find((each) => each["port"] === port);
  if (servicePort === undefined) throw new Error(`no service port ${port} found for service ${JSON.stringify(name)}`);
  const endpoint = readyEndpoint(store.get("endpoints", `${namespace}/${name}`)?.object, servicePort);
  const clusterIp = stringAt(service, "spec", "clusterIP") ?? "";
  // Connect to the endpoint directly, because the machine of the server may have no route to cluster IPs.
  if (endpoint !== undefined) return { url, connectTo: endpoint };
  if (clusterIp !== "" && clusterIp !== "None") return { url, connectTo: { host: clusterIp, port } };
  throw new Error(`no endpoints available for service ${JSON.stringify(name)}`);
}

function readyEndpoint(
  endpoints: ApiObject | undefined,
  servicePort: JsonObject,
): { readonly host: string; readonly port: number } | undefined {
  for (const subset of objectsAt(endpoints, "subsets")) {
    const host = objectsAt(subset, "addresses").map((each) => stringAt(each, "ip"))[0];
    const port = objectsAt(subset, "ports").find((each) => (each["name"] ?? "") === (servicePort["name"] ?? ""));
    if (host !== undefined && typeof port?.["port"] === "number") return { host, port: port["port"] };
  }
  return undefined;
}
