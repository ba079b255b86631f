import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const architecture = process.arch === "arm64" ? "arm64" : "amd64";

/** Beside the bundled program, or where `make build` puts it for who runs the sources. */
const places = ["..", "../../../../dist"].map((folder) =>
  fileURLToPath(new URL(`${folder}/sandboxd-linux-${architecture}`, import.meta.url)),
);

/** The daemon for sandboxes of this machine. Where there is none, a sandbox that wants it says what to do. */
export function sandboxdPath(): string {
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}
