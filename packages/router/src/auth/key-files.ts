import { readFileSync } from "node:fs";
import { type Keyring, signingKey } from "./keyring.ts";

/** Reads the keys from files. The first key signs. Throws if a file cannot be used. */
export function loadKeyring(files: readonly string[]): Keyring {
  const [first, ...rest] = files.map((file) => {
    const key = signingKey(readFileSync(file));
    if ("error" in key) throw new Error(`Cannot load "${file}": ${key.error}`);
    return key;
  });
  if (first === undefined) throw new Error("Cannot load the signing keys: no file was given");
  return [first, ...rest];
}
