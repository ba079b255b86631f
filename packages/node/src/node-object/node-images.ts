import type { Node } from "@agent-sandbox/api";
import type { StoredImage } from "../image/image-index.ts";

type NodeImage = NonNullable<NonNullable<Node["status"]>["images"]>[number];

/** As the kubelet: the largest, because they are what a scheduler can save, and not all names of each. */
const mostImages = 50;
const mostNames = 5;

/** The images that are here, for the Node's status. */
export function nodeImages(images: readonly StoredImage[]): NodeImage[] {
  return images
    .map(({ id, names, digests, sizeBytes }) => {
      const known = [...digests, ...names].slice(-mostNames);
      return { names: known.length > 0 ? known : [id], sizeBytes };
    })
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
    .slice(0, mostImages);
}
