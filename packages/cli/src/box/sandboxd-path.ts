import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const architecture = process.arch === "arm64" ? "arm64" : "amd64";

/** Next to the bundled program, or in `dist` when running from source. */
const places = ["..", "../../../../dist"].map((folder) =>
  fileURLToPath(new URL(`${folder}/sandboxd-linux-${architecture}`, import.meta.url)),
);

/** The path of sandboxd. If the file is missing, Sandboxes with `runtime: Injected` report how to build it. */
export function sandboxdPath(): string {
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}
