/**
 * The type and the size in pixels of an image, from its first bytes. Pure. Only formats without scripts and links are known: everything
 * else, SVG too, is text or a file to download. The size is read before a browser decodes the image, because a small file can become
 * gigabytes of pixels.
 */

export interface ImageSize {
  readonly type: "image/png" | "image/jpeg" | "image/gif" | "image/webp";
  readonly width: number;
  readonly height: number;
}

/** Undefined: it is not an image of a known format, or its size is not where it should be. */
export function readImageSize(bytes: Uint8Array): ImageSize | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return readPng(view) ?? readGif(view) ?? readWebp(view) ?? readJpeg(view);
  } catch (error) {
    // The file ends before its size.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readPng(view: DataView): ImageSize | undefined {
  if (view.getUint32(0) !== 0x89504e47 || view.getUint32(4) !== 0x0d0a1a0a || textAt(view, 12) !== "IHDR")
    return undefined;
  return { type: "image/png", width: view.getUint32(16), height: view.getUint32(20) };
}

function readGif(view: DataView): ImageSize | undefined {
  if (textAt(view, 0) !== "GIF8") return undefined;
  return { type: "image/gif", width: view.getUint16(6, true), height: view.getUint16(8, true) };
}

function readWebp(view: DataView): ImageSize | undefined {
  if (textAt(view, 0) !== "RIFF" || textAt(view, 8) !== "WEBP") return undefined;
  const type = "image/webp";
  const chunk = textAt(view, 12);
  if (chunk === "VP8X") return { type, width: 1 + uint24(view, 24), height: 1 + uint24(view, 27) };
  if (chunk === "VP8 ") {
    return { type, width: view.getUint16(26, true) & 0x3fff, height: view.getUint16(28, true) & 0x3fff };
  }
  if (chunk !== "VP8L") return undefined;
  const bits = view.getUint32(21, true);
  return { type, width: 1 + (bits & 0x3fff), height: 1 + ((bits >>> 14) & 0x3fff) };
}

function readJpeg(view: DataView): ImageSize | undefined {
  if (view.getUint16(0) !== 0xffd8) return undefined;
  // Segments follow each other; the one that begins a frame has the size.
  for (let at = 2; ; at += 2 + Math.max(2, view.getUint16(at + 2))) {
    if (view.getUint8(at) !== 0xff) return undefined;
    const marker = view.getUint8(at + 1);
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { type: "image/jpeg", width: view.getUint16(at + 7), height: view.getUint16(at + 5) };
  }
}

function textAt(view: DataView, offset: number): string {
  return String.fromCharCode(...[0, 1, 2, 3].map((index) => view.getUint8(offset + index)));
}

function uint24(view: DataView, offset: number): number {
  return view.getUint16(offset, true) + (view.getUint8(offset + 2) << 16);
}
