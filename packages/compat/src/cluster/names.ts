import { createHash, randomInt } from "node:crypto";

const letters = "abcdefghijklmnopqrstuvwxyz";
const lettersAndDigits = `${letters}0123456789`;

const pick = (from: string): string => from[randomInt(from.length)] as string;

/** A new name for a claim. It has no hyphen, because E2B's tools split `<port>-<id>.<domain>` there. */
export function newName(): string {
  return pick(letters) + Array.from({ length: 19 }, () => pick(lettersAndDigits)).join("");
}

/** A name of the same form that is always the same for the same text. */
export function nameFor(text: string): string {
  const [first = 0, ...rest] = createHash("sha256").update(text).digest().subarray(0, 20);
  const at = (from: string, byte: number): string => from[byte % from.length] as string;
  return at(letters, first) + Array.from(rest, (byte) => at(lettersAndDigits, byte)).join("");
}

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/** Whether an identifier from a client can be the name of an object. */
export function isName(text: string): boolean {
  return dnsLabel.test(text);
}
