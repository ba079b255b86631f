import type { ResourceDefinition, ServedVersion } from "./definition.ts";
import { compareVersions } from "./version-priority.ts";

export interface ServedResource {
  readonly definition: ResourceDefinition;
  readonly version: ServedVersion;
}

/** Every resource the server knows, by where it is served. Custom ones come and go while it runs. */
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

  /** Grows with every change of what is served. */
  get generation(): number {
    return this.#generation;
  }

  /** Serves a custom resource, in place of what was served under its id before; without a definition, no longer. */
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
