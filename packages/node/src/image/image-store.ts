import { NodeError } from "../errors.ts";
import type { ImageConfig } from "../oci/build-spec.ts";

export interface Image {
  /** What `status.containerStatuses[].imageID` shows. */
  readonly id: string;
  /** Folders for overlayfs, uppermost first. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
}

export interface ImageStore {
  /** Fails with the reason the kubelet would give. */
  resolve(name: string): Promise<Image>;
}

export const hostImageName = "host";

/** The images that need no registry. */
export function builtInImages(host: () => Promise<Image>): ImageStore {
  return {
    resolve: async (name) => {
      if (name === hostImageName) return host();
      throw new NodeError(
        "ErrImagePull",
        `Cannot pull image "${name}": this node has only the built-in image "${hostImageName}"`,
      );
    },
  };
}
