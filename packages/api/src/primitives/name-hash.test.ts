import { expect, test } from "vitest";
import { nameHash } from "./name-hash.ts";

/** One step of FNV-1a, on integers that cannot overflow. */
const step = (hash: bigint, byte: bigint) => ((hash ^ byte) * 0x01000193n) & 0xffffffffn;

test.for([
  ["", "811c9dc5"],
  ["a", "e40c292c"],
  ["my-sandbox", "374de8f5"],
  ["sandbox-name", "ab179450"],
  ["pool", "91dd7983"],
  ["test-pool", "59733166"],
  ["test-template", "69155462"],
  ["test-template-custom", "999443e6"],
] as const)("nameHash(%j) is %s", ([name, hash]) => {
  expect(nameHash(name)).toBe(hash);
});

test("hashes bytes, not UTF-16 units", () => {
  // "é" is C3 A9.
  expect(nameHash("é")).toBe(step(step(0x811c9dc5n, 0xc3n), 0xa9n).toString(16).padStart(8, "0"));
});

test("keeps leading zeros", () => {
  const short = Array.from({ length: 200 }, (_, i) => nameHash(`n${i}`)).filter((hash) => hash.startsWith("0"));
  expect(short.length).toBeGreaterThan(0);
  expect(short.every((hash) => /^[0-9a-f]{8}$/.test(hash))).toBe(true);
});
