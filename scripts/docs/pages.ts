import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";

export const root: string = resolve(import.meta.dirname, "../..");

export interface Page {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
}

const patterns = [
  /^README\.md$/,
  /^docs\/.*\.md$/,
  /^examples\/[^/]+\/README\.md$/,
  /^(?:examples|images)\/README\.md$/,
];

/** The pages for users and operators, whose commands are run by `make test-docs`. */
export function documentedPages(): Page[] {
  const list = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root });
  const paths = [...new Set(list.toString("utf8").split("\n"))].filter((path) =>
    patterns.some((each) => each.test(path)),
  );
  return paths.sort().flatMap((path) => {
    try {
      return [{ path, text: readFileSync(`${root}/${path}`, "utf8") }];
    } catch {
      // Deleted, but still in the index.
      return [];
    }
  });
}

/** Whether the commands of a page use the images of `make images`. */
export const usesImages = ({ path }: Page): boolean => path.startsWith("examples/") || path === "docs/guides/images.md";
