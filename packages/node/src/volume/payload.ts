import { NodeError } from "../errors.ts";

/** The files of a volume that is filled from objects, by their paths below it. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface PayloadFile {
  readonly content: Buffer;
  readonly mode: number;
  /** Who owns it, when not root. */
  readonly uid?: number;
}

/** A key of an object, the path it is shown at, and the file's mode. */
export interface Item {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface ItemsWanted {
  /** What the content comes from, as in `ConfigMap ns/name`. */
  readonly from: string;
  /** Undefined when there is no such object. */
  readonly content: ReadonlyMap<string, Buffer> | undefined;
  /** All keys under their own names when absent. */
  readonly items: readonly Item[] | undefined;
  readonly defaultMode: number;
  /** What is missing is left out. */
  readonly optional: boolean;
}

export const defaultMode = 0o644;

export function payloadOf({ from, content, items, defaultMode: mode, optional }: ItemsWanted): Payload {
  if (content === undefined) {
    if (optional) return new Map();
    throw new NodeError("FailedMount", `${from} not found`);
  }
  if (items === undefined) {
    const wrong = [...content.keys()].find((key) => !isPayloadPath(key));
    if (wrong !== undefined) throw new NodeError("FailedMount", `${from} has a key that cannot be a file: "${wrong}"`);
    return new Map([...content].map(([key, bytes]) => [key, { content: bytes, mode }]));
  }
  return new Map(
    items.flatMap((item): [string, PayloadFile][] => {
      const bytes = content.get(item.key);
      if (bytes !== undefined) return [[item.path, { content: bytes, mode: item.mode ?? mode }]];
      if (optional) return [];
      throw new NodeError("FailedMount", `references non-existent ${from} key: ${item.key}`);
    }),
  );
}

/** Below the volume, without a way out of it, and not where the volume keeps its own things. */
export function isPayloadPath(path: unknown): boolean {
  return (
    typeof path === "string" &&
    /^[^\0/][^\0]*$/.test(path) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    !path.startsWith("..")
  );
}
