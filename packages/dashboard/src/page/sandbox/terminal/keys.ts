/** What a key does, other than being typed. `browser`: the browser handles it; for pasting, it then sends a paste event. */
export type KeyUse = "type" | "copy" | "leave" | "browser";

export type Key = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "shiftKey" | "altKey" | "metaKey">;

/** Tab belongs to the programs in the terminal, so that another key must leave it. */
export const leaveKeys = "Ctrl+Shift+X";

/** Ctrl+C copies only if text is selected. Otherwise it interrupts the program. */
export function useOfKey({ key, code, ctrlKey, shiftKey, altKey, metaKey }: Key, hasSelection: boolean): KeyUse {
  if (altKey || metaKey) return metaKey ? "browser" : "type";
  if (shiftKey && !ctrlKey && key === "Insert") return "browser";
  if (ctrlKey && !shiftKey && key === "Insert") return hasSelection ? "copy" : "type";
  if (!ctrlKey) return "type";
  if (code === "KeyC") return shiftKey || hasSelection ? "copy" : "type";
  if (!shiftKey) return "type";
  if (code === "KeyV") return "browser";
  return code === "KeyX" ? "leave" : "type";
}

/** Without control characters, so that pasted text cannot end the paste and press keys. */
export function pasteable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g, "");
}
