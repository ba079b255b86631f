import { readFileSync } from "node:fs";

/** `scripts/build.ts` replaces this name in the bundle with the version of the root `package.json`. */
declare const AGENT_SANDBOX_VERSION: string | undefined;

/** The version of the product. Without a bundle, when Node runs the sources, it is read from the root `package.json`. */
export const version: string = typeof AGENT_SANDBOX_VERSION === "string" ? AGENT_SANDBOX_VERSION : versionOfSources();

function versionOfSources(): string {
  const manifest = new URL("../../../package.json", import.meta.url);
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
