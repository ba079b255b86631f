/**
 * A text of the server for a terminal. Tenants write names of files, messages of events and conditions: control characters in them
 * could change what the terminal shows, so they are printed as in `^[`. Line breaks and tabs become spaces.
 */
export function printable(text: string): string {
  return text
    .replaceAll(/[\n\r\t]+/g, " ")
    .replaceAll(/\p{Cc}/gu, shownControl)
    .replaceAll(/\p{Bidi_Control}/gu, replacement);
}

const replacement = "\ufffd";

function shownControl(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x80 ? `^${String.fromCharCode(code ^ 0x40)}` : replacement;
}
