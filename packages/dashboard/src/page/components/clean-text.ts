/**
 * Text that a sandbox or a tenant wrote, for people. React escapes markup; this removes what could still change how other text looks:
 * control characters, and characters that reorder, hide or break the line.
 */
export function cleanText(text: string): string {
  return text
    .replaceAll(/[\n\r\t\u2028\u2029]+/g, " ")
    .replaceAll(/[\p{Cc}\p{Bidi_Control}\p{Co}\p{Cs}\u200b\u2060\ufeff\u{e0000}-\u{e007f}]/gu, "\ufffd");
}

/** The same for text of several lines: line breaks and tabs stay. */
export function cleanLines(text: string): string {
  return text
    .replaceAll(/\r\n?|[\u2028\u2029]/g, "\n")
    .split("\n")
    .map((line) => line.split("\t").map(cleanText).join("\t"))
    .join("\n");
}
