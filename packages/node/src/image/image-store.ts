import type { Readable } from "node:stream";
import type { ImageConfig } from "../oci/build-spec.ts";
import type { RegistryLogins } from "./credentials.ts";
import type { StoredImage } from "./image-index.ts";
import type { ReportProgress } from "./import-progress.ts";

export interface Image {
  /** The value of `status.containerStatuses[].imageID`. */
  readonly id: string;
  /** Folders for overlayfs, uppermost first. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
}

export type PullPolicy = "Always" | "IfNotPresent" | "Never";

export interface ResolveOptions {
  /** Default "IfNotPresent". Built-in images are always present. */
  readonly policy?: PullPolicy | undefined;
  /** Default: none. */
  readonly logins?: RegistryLogins | undefined;
  /** Pulls are limited for each namespace. */
  readonly namespace?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ImageStore {
  /**
   * Finds the image with a name, and pulls it if the policy requires it. Fails with the kubelet's reasons: `ErrImagePull`,
   * `ErrImageNeverPull`, `InvalidImageName`.
   */
  resolve(name: string, options?: ResolveOptions): Promise<Image>;
  /** Finds a stored image by id. Does not check access, so the id must be one that `resolve` returned for the same Pod. */
  byId(id: string): Promise<Image | undefined>;
}

/** The operations of the `image` commands. */
export interface ImageAdmin {
  list(): Promise<readonly ListedImage[]>;
  /** Fetches the image that the registry has for the name now. */
  pull(
    name: string,
    options?: Pick<ResolveOptions, "logins" | "signal"> & { readonly onProgress?: ReportProgress },
  ): Promise<StoredImage>;
  /** Loads every image of a docker or OCI archive. */
  load(archive: string | Readable, options?: LoadOptions): Promise<readonly StoredImage[]>;
  /** Removes a tag, or an image by id. The image is deleted with its last tag. Throws if it is in use. */
  remove(nameOrId: string): Promise<Removed>;
  /** Removes images that no Pod uses: those without a name, or all. */
  prune(which: "unnamed" | "unused"): Promise<readonly StoredImage[]>;
}

export interface LoadOptions {
  /** Replaces the names in an archive with one image. */
  readonly name?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
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
/** Built from the machine's own files, not pulled from a registry. */
export const builtInImages: readonly string[] = [hostImageName, sandboxdImageName];
