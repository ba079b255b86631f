import { createHash } from "node:crypto";
import { pathNotFound } from "../api-error.ts";
import { openApiReply } from "../openapi/openapi-reply.ts";
import type { ApiRequest, ObjectReply, Reply } from "../request/api-request.ts";
import type { RequestPath } from "../request/request-path.ts";
import { kubernetesVersion } from "../resources/builtin-definitions.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Registry, ServedResource } from "../resources/registry.ts";
import { aggregatedDiscovery, wantsAggregated } from "./aggregated.ts";
import { subresourcesOf, verbsOf } from "./served-verbs.ts";

type DiscoveryPath = Exclude<RequestPath, { kind: "resource" }>;

/** The Kubernetes version whose API the server implements. */
const versionInfo = {
  major: "1",
  minor: kubernetesVersion.split(".")[1] as string,
  gitVersion: `${kubernetesVersion}+agent-sandbox`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "node",
  platform: `${process.platform}/${process.arch === "x64" ? "amd64" : process.arch}`,
};

/** Answers requests about the server itself: version, health, and discovery of what it serves. */
export function discoveryReply(registry: Registry, path: DiscoveryPath, request: ApiRequest): Reply {
  if (request.method !== "GET") throw pathNotFound();
  const aggregated = wantsAggregated(request.headers["accept"]);
  switch (path.kind) {
    case "core-versions":
      if (aggregated) return aggregatedReply(registry, [["", ["v1"]]]);
      return reply({ kind: "APIVersions", versions: ["v1"], serverAddressByClientCIDRs: [] });
    case "groups": {
      if (aggregated) return aggregatedReply(registry, [...registry.groups()]);
      const groups = [...registry.groups()].map(([group, versions]) => groupOf(group, versions));
      return reply({ kind: "APIGroupList", apiVersion: "v1", groups });
    }
    case "group": {
      const versions = registry.groups().get(path.group);
      if (versions === undefined) throw pathNotFound();
      return reply({ kind: "APIGroup", apiVersion: "v1", ...groupOf(path.group, versions) });
    }
    case "resources":
      return resourceList(registry, path.apiVersion);
    case "other":
      return path.path.startsWith("/openapi/")
        ? openApiReply(registry, path.path, request)
        : other(registry, path.path);
    default:
      return path satisfies never;
  }
}

function aggregatedReply(registry: Registry, groups: Parameters<typeof aggregatedDiscovery>[1]): ObjectReply {
  const type = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
  const body = aggregatedDiscovery(registry, groups);
  return { kind: "object", status: 200, headers: { "content-type": type, vary: "Accept" }, body };
}

function other(registry: Registry, path: string): Reply {
  switch (path) {
    case "/version":
      return reply(versionInfo);
    case "/healthz":
    case "/livez":
    case "/readyz":
    case "/healthz/ping":
    case "/livez/ping":
    case "/readyz/ping":
      return { kind: "text", status: 200, headers: {}, text: "ok" };
    case "/": {
      const named = [...registry.groups()].flatMap(([group, versions]) => [
        `/apis/${group}`,
        ...versions.map((version) => `/apis/${group}/${version}`),
      ]);
      return reply({
        paths: [
          "/api",
          "/api/v1",
          "/apis",
          ...named,
          "/healthz",
          "/livez",
          "/metrics",
          "/openapi/v2",
          "/openapi/v3",
          "/readyz",
          "/version",
        ],
      });
    }
    default:
      throw pathNotFound();
  }
}

function groupOf(group: string, versions: readonly string[]): object {
  const named = versions.map((version) => ({ groupVersion: `${group}/${version}`, version }));
  return { name: group, versions: named, preferredVersion: named[0] };
}

function resourceList(registry: Registry, apiVersion: string): ObjectReply {
  const served = registry.under(apiVersion);
  if (served.length === 0) throw pathNotFound();
  const resources = served.flatMap(resourceEntries);
  // The legacy core group's discovery documents have no apiVersion.
  const version = apiVersion === "v1" ? {} : { apiVersion: "v1" };
  return reply({ kind: "APIResourceList", ...version, groupVersion: apiVersion, resources });
}

function resourceEntries(served: ServedResource): object[] {
  const { plural, singular, kind, namespaced, shortNames, categories } = served.definition;
  const main = {
    name: plural,
    singularName: singular,
    namespaced,
    kind,
    verbs: verbsOf(served),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(isStored(served.definition) ? { storageVersionHash: storageHash(served.definition) } : {}),
  };
  const parts = subresourcesOf(served).map(({ name, ...rest }) => ({
    name: `${plural}/${name}`,
    singularName: "",
    namespaced,
    ...rest,
  }));
  return [main, ...parts];
}

const isStored = ({ review, measured }: ResourceDefinition): boolean => review === undefined && measured === undefined;

/** Changes when objects are stored in another version. */
function storageHash({ versions, kind }: ResourceDefinition): string {
  const [{ group, version }] = versions;
  return createHash("sha256").update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString("base64");
}

function reply(body: object): ObjectReply {
  return { kind: "object", status: 200, headers: {}, body };
}
