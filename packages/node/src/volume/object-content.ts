import type { ConfigMap, Secret } from "@agent-sandbox/api";

/** Content by key. A ConfigMap has text in `data` and base64 in `binaryData`; a Secret has base64 in `data`. */
export type Content = ReadonlyMap<string, Buffer>;

export function configMapContent(object: ConfigMap | undefined): Content | undefined {
  if (object === undefined) return undefined;
  return new Map([...decode(object.data, "utf8"), ...decode(object.binaryData, "base64")]);
}

export function secretContent(object: Secret | undefined): Content | undefined {
  return object === undefined ? undefined : new Map(decode(object.data, "base64"));
}

function decode(data: Readonly<Record<string, string>> | undefined, encoding: BufferEncoding): [string, Buffer][] {
  return Object.entries(data ?? {}).map(([key, text]) => [key, Buffer.from(text, encoding)]);
}
