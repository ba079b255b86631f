import type { ResourceDefinition, ServedVersion } from "./definition.ts";
import { compareVersions } from "./version-priority.ts";

export interface ServedResource {
  readonly definition: ResourceDefinition;
  readonly version: ServedVersion;
}

/** All resources that the server serves. Custom resources can be added and removed while it runs. */
export class Registry {
  readonly #fixed: readonly ResourceDefinition[];
  readonly #custom = new Map<string, ResourceDefinition>();
  readonly #byPath = new Map<string, ServedResource>();
  readonly #byId = new Map<string, ResourceDefinition>();
  #generation = 0;

  constructor(definitions: readonly ResourceDefinition[]) {
    this.#fixed = definitions;
    this.#index();
  }

  get definitions(): readonly ResourceDefinition[] {
    return [...this.#byId.values()];
  }

  /** Increases with every change of the registry. */
  get generation(): number {
    return this.#generation;
  }

  /** Adds or replaces a custom resource; removes it if the definition is `undefined`. */
  setCustom(id: string, definition: ResourceDefinition | undefined): void {
    if (definition === undefined) {
      if (!this.#custom.delete(id)) return;
    } else this.#custom.set(id, definition);
    this.#index();
  }

  find(apiVersion: string, plural: string): ServedResource | undefined {
    return this.#byPath.get(`${apiVersion}/${plural}`);
  }

  get(id: string): ResourceDefinition | undefined {
    return this.#byId.get(id);
  }

  /** The resources of a `v1` or `group/version`. */
  under(apiVersion: string): ServedResource[] {
    return this.served().filter(({ version }) => version.apiVersion === apiVersion);
  }

  served(): ServedResource[] {
    return [...this.#byPath.values()];
  }

  /** The named groups with their versions, the preferred version first. */
  groups(): ReadonlyMap<string, readonly string[]> {
    const groups = new Map<string, string[]>();
    for (const { version } of this.served()) {
      if (version.group === "") continue;
      const versions = groups.get(version.group) ?? [];
      if (!versions.includes(version.version)) versions.push(version.version);
      groups.set(version.group, versions);
    }
    for (const versions of groups.values()) versions.sort(compareVersions);
    return groups;
  }

  #index(): void {
    this.#generation += 1;
    this.#byPath.clear();
    this.#byId.clear();
    for (const definition of [...this.#fixed, ...this.#custom.values()]) {
      this.#byId.set(definition.id, definition);
      for (const version of definition.versions) {
        if (version.served === false) continue;
        this.#byPath.set(`${version.apiVersion}/${definition.plural}`, { definition, version });
      }
    }
  }
}
