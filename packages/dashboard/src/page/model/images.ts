import type { Node } from "@agent-sandbox/api";

export interface MachineImage {
  readonly node: string;
  readonly names: readonly string[];
  readonly sizeBytes: number;
}

/** The images that nodes report: the largest ones, by the convention of the kubelet. */
export function imagesOf(nodes: readonly Node[]): MachineImage[] {
  return nodes.flatMap(({ metadata, status }) =>
    (status?.images ?? []).map(({ names, sizeBytes }) => ({
      node: metadata?.name ?? "",
      names: names ?? [],
      sizeBytes: sizeBytes ?? 0,
    })),
  );
}

/** The names with tags of the images of a node. */
export function imageNames(node: Node): string[] {
  return imagesOf([node])
    .flatMap(({ names }) => names.filter((name) => !name.includes("@") && !name.startsWith("sha256:")))
    .toSorted();
}
