/**
 * Text for people: control characters are replaced by their pictures, and characters that change the order of text are removed, so
 * that output of a sandbox cannot drive the terminal of a host. Structured answers keep the original.
 */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll(hidden, (character) => {
    const code = character.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return code === 0x7f ? "\u2421" : "\ufffd";
  });
}

/** C0 without tab and line feed, DEL, C1, and the controls of bidirectional text. */
// oxlint-disable-next-line no-control-regex
const hidden = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
