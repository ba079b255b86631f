import { readFileSync } from "node:fs";

/** The version of everything that is built here. The root `package.json` is the only place where it is written. */
export const version: string = (
  JSON.parse(readFileSync(`${import.meta.dirname}/../package.json`, "utf8")) as { version: string }
).version;
