/** Saves a file of the user's machine: the browser's download. The name cannot contain folders. */
export function saveFile(content: Blob, name: string): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = url;
  link.download = safeName(name);
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), revokeMs);
}

/** The browser reads the blob after the click. */
const revokeMs = 60_000;

export function safeName(name: string): string {
  const plain = name.replaceAll(/[\p{Cc}\p{Bidi_Control}/\\:*?"<>|]/gu, "_").replace(/^\.+/, "_");
  return plain.slice(0, 200) || "file";
}
