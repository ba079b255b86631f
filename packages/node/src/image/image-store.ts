import type { ImageConfig } from "../oci/build-spec.ts";
import type { RegistryLogins } from "./credentials.ts";
import type { StoredImage } from "./image-index.ts";

export interface Image {
  /** What `status.containerStatuses[].imageID` shows. */
  readonly id: string;
  /** Folders for overlayfs, uppermost first. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
}

export type PullPolicy = "Always" | "IfNotPresent" | "Never";

export interface ResolveOptions {
  /** Default "IfNotPresent". Built-in images are always here. */
  readonly policy?: PullPolicy | undefined;
  /** For the registry. Default: none. */
  readonly logins?: RegistryLogins | undefined;
  /** Whose turn it is when many wait. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ImageStore {
  /**
   * The image of a name, pulled if the policy wants it. Fails with the reason the kubelet would give: `ErrImagePull`,
   * `ErrImageNeverPull`, `InvalidImageName`.
   */
  resolve(name: string, options?: ResolveOptions): Promise<Image>;
  /** One that is here, whatever its names stand for by now. Only for who was given that id by `resolve`: nothing is checked. */
  byId(id: string): Promise<Image | undefined>;
}

/** What people do with images by commands. */
export interface ImageAdmin {
  list(): Promise<readonly ListedImage[]>;
  /** Brings the name up to what the registry has. */
  pull(name: string, options?: Pick<ResolveOptions, "logins" | "signal">): Promise<StoredImage>;
  /** Every image of an archive of docker's or OCI's form. `name` is for an archive that names none. */
  load(file: string, name?: string): Promise<readonly StoredImage[]>;
  /** By name or id. The image goes with its last name, unless it is in use. */
  remove(nameOrId: string): Promise<Removed>;
  /** Removes what no Pod uses: images without a name, or all. */
  prune(which: "unnamed" | "unused"): Promise<readonly StoredImage[]>;
}

export interface ListedImage extends StoredImage {
  readonly inUse: boolean;
  readonly lastUsedAt: number;
}

export interface Removed {
  readonly untagged: readonly string[];
  readonly removed?: string;
}

export const hostImageName = "host";
export const sandboxdImageName = "sandboxd";
/** They are made of what is on the machine, and have no registry. */
export const builtInImages: readonly string[] = [hostImageName, sandboxdImageName];
