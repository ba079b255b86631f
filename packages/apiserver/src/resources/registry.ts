import type { ResourceDefinition, ServedVersion } from "./definition.ts";

export interface ServedResource {
  readonly definition: ResourceDefinition;
  readonly version: ServedVersion;
}

/** Every resource the server knows, by where it is served. */
export class Registry {
  readonly definitions: readonly ResourceDefinition[];
  /** Grows with every change of what is served. */
  readonly generation = 0;
  readonly #byPath = new Map<string, ServedResource>();
  readonly #byId = new Map<string, ResourceDefinition>();

  constructor(definitions: readonly ResourceDefinition[]) {
    this.definitions = definitions;
    for (const definition of definitions) {
      this.#byId.set(definition.id, definition);
      for (const version of definition.versions) {
        this.#byPath.set(`${version.apiVersion}/${definition.plural}`, { definition, version });
      }
    }
  }

  find(apiVersion: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(`${apiVersion}/${plural}`);
  }

  get(id: string): ResourceDefinition | undefined {
    return this.#byId.get(id);
  }

  /** What is served under one `v1` or `group/version`. */
  under(apiVersion: string): ServedResource[] {
    return this.served().filter(({ version }) => version.apiVersion === apiVersion);
  }

  served(): ServedResource[] {
    return [...this.#byPath.values()];
  }

  /** Named groups with their versions, the preferred one first. */
  groups(): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, string[]>();
    for (const { version } of this.served()) {
      if (version.group === "") continue;
      const versions = groups.get(version.group) ?? [];
      if (!versions.includes(version.version)) versions.push(version.version);
      groups.set(version.group, versions);
    }
    return groups;
  }
}
