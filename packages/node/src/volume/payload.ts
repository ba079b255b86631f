import { NodeError } from "../errors.ts";

/** The files of a volume that is filled from API objects, by their paths in the volume. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface PayloadFile {
  readonly content: Buffer;
  readonly mode: number;
  /** The owner. Default: root. */
  readonly uid?: number;
}

/** A key of an object, and the path and mode of its file. */
export interface Item {
  readonly key: string;
  readonly path: string;
  readonly mode?: number;
}

export interface ItemsWanted {
  /** The source of the content for error messages, as in `configmap "name"`. */
  readonly from: string;
  /** Undefined if the object does not exist. */
  readonly content: ReadonlyMap<string, Buffer> | undefined;
  /** Default: all keys, with their names as paths. */
  readonly items: readonly Item[] | undefined;
  readonly defaultMode: number;
  /** A missing object or key is left out instead of an error. */
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
    if (wrong !== undefined)
      throw new NodeError("FailedMount", `${from} has a key that is not a valid file name: "${wrong}"`);
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

/** Whether a path is relative, stays inside the volume, and does not start with "..", which the atomic writer uses. */
export function isPayloadPath(path: unknown): boolean {
  return (
    typeof path === "string" &&
    /^[^\0/][^\0]*$/.test(path) &&
    path.split("/").every((part) => part !== "" && part !== "." && part !== "..") &&
    !path.startsWith("..")
  );
}
