/** The longest name of a field manager, in bytes. */
export const maxManagerBytes = 128;

/** The name of a writer in `managedFields`: the `fieldManager` of the request, or the first part of its user agent. */
export function managerName(fieldManager: string | undefined, userAgent: string | undefined): string {
  if (fieldManager !== undefined && fieldManager !== "") return fieldManager;
  let name = "";
  let bytes = 0;
  for (const character of (userAgent ?? "").split("/", 1)[0] ?? "") {
    if (!/[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u.test(character)) continue;
    bytes += Buffer.byteLength(character);
    if (bytes > maxManagerBytes) break;
    name += character;
  }
  return name;
}
