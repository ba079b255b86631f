import { type RegistrySettings, writeRegistries } from "./registries.ts";

export interface CurrentRegistries {
  readonly settings: readonly RegistrySettings[];
  /** The settings as a file for skopeo; see `writeRegistries`. */
  readonly file: string | undefined;
}

/**
 * The operator's registries. They are read again for each pull, so that a change needs no restart. While the settings are
 * invalid, the last valid ones are used, because an operator who edits the file must not stop all pulls.
 */
export class RegistrySource {
  readonly #folder: string;
  readonly #read: () => Promise<readonly RegistrySettings[]>;
  #last: CurrentRegistries | undefined;

  constructor(folder: string, read: () => Promise<readonly RegistrySettings[]>) {
    this.#folder = folder;
    this.#read = read;
  }

  /** Throws if the settings are invalid and were never valid. */
  async current(): Promise<CurrentRegistries> {
    try {
      const settings = await this.#read();
      this.#last = { settings, file: await writeRegistries(this.#folder, settings) };
    } catch (error) {
      if (this.#last === undefined) throw error;
    }
    return this.#last;
  }
}
