/** Larger or deeper messages are not written by people or models: parsing them would take many times their size in memory. */
const maxElements = 20_000;
const maxDepth = 64;

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const opening = new Set([0x5b, 0x7b]);
const closing = new Set([0x5d, 0x7d]);

/** Whether JSON has few enough elements to be parsed. Reads text that is not JSON too, which the parser refuses. */
export function isSmallShape(json: Uint8Array): boolean {
  let [depth, elements] = [0, 0];
  let isText = false;
  for (let at = 0; at < json.length; at++) {
    const byte = json[at] ?? 0;
    if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash ? 1 : 0;
    else if (opening.has(byte)) {
      depth++;
      elements++;
    } else if (closing.has(byte)) depth--;
    else if (byte === comma || byte === colon) elements++;
    if (depth > maxDepth || elements > maxElements) return false;
  }
  return true;
}
