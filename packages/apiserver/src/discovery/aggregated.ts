import type { Registry, ServedResource } from "../resources/registry.ts";
import { subresourcesOf, verbsOf } from "./served-verbs.ts";

/** `apidiscovery.k8s.io/v2`: all resources in two responses instead of one for each group version. */
export function aggregatedDiscovery(
  registry: Registry,
  groups: readonly (readonly [string, readonly string[]])[],
): object {
  return {
    kind: "APIGroupDiscoveryList",
    apiVersion: "apidiscovery.k8s.io/v2",
    metadata: {},
    items: groups.map(([group, versions]) => ({
      metadata: group === "" ? {} : { name: group },
      versions: versions.map((version) => ({
        version,
        freshness: "Current",
        resources: registry.under(group === "" ? version : `${group}/${version}`).map(resourceOf),
      })),
    })),
  };
}

function resourceOf(served: ServedResource): object {
  const { definition, version } = served;
  const { plural, singular, kind, namespaced, shortNames, categories, typed, review } = definition;
  // For built-in kinds, Kubernetes leaves out a group and version equal to those of the list.
  const own =
    typed || review !== undefined ? { group: "", version: "" } : { group: version.group, version: version.version };
  const subresources = subresourcesOf(served).map(({ name, kind: subKind, verbs, ...where }) => ({
    subresource: name,
    responseKind: { ...own, ...where, kind: subKind },
    verbs,
  }));
  return {
    resource: plural,
    responseKind: { ...own, kind },
    scope: namespaced ? "Namespaced" : "Cluster",
    singularResource: singular,
    verbs: verbsOf(served),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources }),
  };
}

/** Whether the client prefers aggregated discovery. client-go lists it first and plain JSON last. */
export function wantsAggregated(accept: string | undefined): boolean {
  return (accept ?? "").split(",").some((type) => {
    const parameters = type.split(";").map((part) => part.trim());
    return ["application/json", "g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].every((part) =>
      parameters.includes(part),
    );
  });
}
