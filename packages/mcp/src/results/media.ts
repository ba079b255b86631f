import type { ContentBlock } from "@modelcontextprotocol/server";
import type { CodeValue } from "../sandboxes/code-events.ts";

const maxImages = 4;
const maxImageBytes = 1_048_576;
const maxMedia = 4;
const maxMediaLength = 65_536;

/** What values of code show besides text: images as images, other media as embedded resources. Text has its own place. */
export interface Media {
  readonly blocks: readonly ContentBlock[];
  readonly images: number;
  /** Images that are too large for an answer, in base64. */
  readonly large: readonly Image[];
  /** What was left out because of its size or number, one sentence each. */
  readonly notes: readonly string[];
}

export interface Image {
  readonly mimeType: string;
  readonly data: string;
}

export function mediaOf(values: readonly CodeValue[]): Media {
  const entries = values.flatMap((value) => Object.entries(value).filter(([type]) => type !== "text/plain"));
  const images = entries.flatMap(([type, data]) => imageOf(type, data) ?? []);
  const small = images.filter(({ data }) => data.length * 0.75 <= maxImageBytes);
  const shown = small.slice(0, maxImages);
  const large = images.filter((image) => !small.includes(image)).slice(0, maxImages);
  const dropped = images.length - shown.length - large.length;
  const others = entries.filter(([type]) => !isImage(type));
  const fitting = others.flatMap(([type, data], index) => resourceOf(type, data, index) ?? []);
  const media = fitting.slice(0, maxMedia);
  const notes = [
    ...(dropped > 0 ? [`${dropped} more images are not shown`] : []),
    ...(media.length < others.length ? [`${others.length - media.length} other values are not shown`] : []),
  ];
  return { blocks: [...shown, ...media], images: shown.length, large, notes };
}

const isImage = (type: string): boolean => ["image/png", "image/jpeg", "image/svg+xml"].includes(type);

function imageOf(mimeType: string, data: unknown): { type: "image"; data: string; mimeType: string } | undefined {
  if (!isImage(mimeType) || typeof data !== "string") return undefined;
  const base64 = mimeType === "image/svg+xml" ? Buffer.from(data).toString("base64") : data.replaceAll(/\s/g, "");
  // Hosts refuse a whole answer with data that is not base64.
  return /^[A-Za-z0-9+/]*={0,2}$/.test(base64) ? { type: "image", data: base64, mimeType } : undefined;
}

function resourceOf(mimeType: string, data: unknown, index: number): ContentBlock | undefined {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  if (text === undefined || text.length > maxMediaLength || !/^[\w.+-]+\/[\w.+-]+$/.test(mimeType)) return undefined;
  return { type: "resource", resource: { uri: `sandbox:result/${index}`, mimeType, text } };
}
