/** How the platform's daemon gets into a container that asks for `runtime: Injected`. */
export interface InjectedRuntime {
  /** Holds one file, `/sandboxd`. */
  readonly image: string;
  /** `ImageVolume` mounts the image itself, where nodes can; `InitContainer` copies the file into an emptyDir. */
  readonly delivery: "ImageVolume" | "InitContainer";
}

/** What the installation, rather than a Sandbox, decides. */
export interface Settings {
  readonly clusterDomain: string;
  /** Asks the node to keep a Pod's writable layer for the Sandbox's next Pod. */
  readonly keepRootFilesystem: boolean;
  readonly runtime: InjectedRuntime | undefined;
  /** How long the metadata of a Pod may stay behind its template; 0: not at all. At most a second is used. */
  readonly writeBehindMs: number;
}

export const defaultSettings: Settings = {
  clusterDomain: "cluster.local",
  keepRootFilesystem: false,
  runtime: undefined,
  writeBehindMs: 0,
};
