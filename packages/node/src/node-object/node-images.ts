import type { Node } from "@agent-sandbox/api";
import type { StoredImage } from "../image/image-index.ts";

type NodeImage = NonNullable<NonNullable<Node["status"]>["images"]>[number];

/** Like the kubelet, lists the largest images and a limited number of names of each. */
const mostImages = 50;
const mostNames = 5;

/** The images for the Node's status. */
export function nodeImages(images: readonly StoredImage[]): NodeImage[] {
  return images
    .map(({ id, names, digests, sizeBytes }) => {
      const known = [...digests, ...names].slice(-mostNames);
      return { names: known.length > 0 ? known : [id], sizeBytes };
    })
    .toSorted((one, other) => other.sizeBytes - one.sizeBytes)
    .slice(0, mostImages);
}
