import { readFileSync } from "node:fs";
import { version } from "./version.ts";

/**
 * The section of a changelog about one version, without its title. A version that has no section yet gets the section
 * "Unreleased" if `orUnreleased` is set; otherwise the result is an error.
 */
export function releaseNotes(
  changelog: string,
  wanted: string,
  { orUnreleased = false }: { orUnreleased?: boolean } = {},
): { readonly notes: string } | { readonly error: string } {
  const sections = new Map(
    changelog
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const [title = "", ...lines] = section.split("\n");
        // The title is `1.2.3 - 2026-01-31`, `[1.2.3] - 2026-01-31` or `Unreleased`.
        return [title.split(" ")[0]?.replaceAll(/[[\]]/g, "") ?? "", lines.join("\n").trim()] as const;
      }),
  );
  const notes = sections.get(wanted) ?? (orUnreleased ? sections.get("Unreleased") : undefined);
  if (notes === undefined) return { error: `CHANGELOG.md has no section "## ${wanted}"` };
  if (notes === "") return { error: `CHANGELOG.md says nothing about ${wanted}` };
  return { notes };
}

/** `node scripts/release-notes.ts [version]` prints the notes of a version, by default the current one. */
if (import.meta.main) {
  const changelog = readFileSync(`${import.meta.dirname}/../CHANGELOG.md`, "utf8");
  const result = releaseNotes(changelog, process.argv[2] ?? version);
  if ("error" in result) {
    console.error(result.error);
    process.exit(1);
  }
  console.log(result.notes);
}
