import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** Next to the bundled program, or in `dist` when running from source. */
const places = ["../dashboard", "../../../../dist/dashboard"].map((folder) =>
  fileURLToPath(new URL(folder, import.meta.url)),
);

/** The folder of the built page. */
export function dashboardPage(): string {
  return places.find((place) => existsSync(place)) ?? (places[0] as string);
}
