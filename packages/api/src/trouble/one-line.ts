/** The most characters of a sentence about trouble. Messages of conditions may have 32,768, but people read one line. */
export const longestSentence = 1024;

/**
 * One line of text for conditions, events and terminals. Tenants influence the text (names of images, answers of their registries):
 * control characters and line breaks become spaces, characters that change the direction of writing become U+FFFD, and the end
 * of a long text is cut off.
 */
export function oneLine(text: string, longest: number = longestSentence): string {
  const line = text
    // Cut first: the rest of this function is then cheap for every text.
    .slice(0, 4 * longest)
    .replaceAll(/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/\p{Bidi_Control}/gu, "\ufffd")
    .trim();
  return (line.length > longest ? `${line.slice(0, longest - 1)}…` : line).toWellFormed();
}
