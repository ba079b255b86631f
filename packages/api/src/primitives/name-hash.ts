const utf8 = new TextEncoder();

/**
 * 32-bit FNV-1a over the UTF-8 bytes, as 8 lower-case hex digits, which fit in any label value. Collisions are easy to
 * construct, so a match only selects candidates and does not prove ownership.
 */
export function nameHash(name: string): string {
  let hash = 0x811c9dc5;
  for (const byte of utf8.encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, "0");
}
