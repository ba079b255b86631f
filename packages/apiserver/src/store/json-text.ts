/**
 * The JSON of objects that were just saved. It was made for the journal; the answer to the writer and the event to each
 * watcher, which follow at once, are the same text. Objects are never changed, so a text cannot become wrong.
 */
const texts = new Map<object, string>();
let length = 0;

const maxTexts = 1024;
/** In UTF-16 units; what is larger than all of it together is not kept. */
const maxLength = 4 * 1024 * 1024;

/** Keeps the JSON of an object that will never change, until enough newer ones have come. */
export function rememberJson(object: object, text: string): void {
  if (text.length > maxLength || texts.has(object)) return;
  texts.set(object, text);
  length += text.length;
  for (const [oldest, { length: freed }] of texts) {
    if (texts.size <= maxTexts && length <= maxLength) return;
    texts.delete(oldest);
    length -= freed;
  }
}

/** The JSON of any value; a remembered text when there is one. */
export function jsonText(value: unknown): string {
  const known = typeof value === "object" && value !== null ? texts.get(value) : undefined;
  return known ?? JSON.stringify(value);
}
