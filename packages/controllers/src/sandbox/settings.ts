/** How the daemon is delivered to containers of Sandboxes with `runtime: Injected`. */
export interface InjectedRuntime {
  /** An image that contains one file, `/sandboxd`. */
  readonly image: string;
  /** Default `IfNotPresent`. */
  readonly pullPolicy?: "Always" | "IfNotPresent" | "Never";
  /** `ImageVolume` mounts the image itself, where nodes can; `InitContainer` copies the file into an emptyDir. */
  readonly delivery: "ImageVolume" | "InitContainer";
}

/** Settings of the installation. */
export interface Settings {
  readonly clusterDomain: string;
  /** Whether the node keeps a Pod's writable layer for the Sandbox's next Pod. */
  readonly keepRootFilesystem: boolean;
  readonly runtime: InjectedRuntime | undefined;
  /** How long an update of a Pod's metadata may wait for further changes of the template. 0: not at all. At most a second is used. */
  readonly writeBehindMs: number;
}

export const defaultSettings: Settings = {
  clusterDomain: "cluster.local",
  keepRootFilesystem: false,
  runtime: undefined,
  writeBehindMs: 0,
};
