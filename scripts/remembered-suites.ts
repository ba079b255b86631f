import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import type { Suite, Tally } from "./suites.ts";

const root = `${import.meta.dirname}/..`;
const folder = `${root}/.cache/passed`;

/** Programs of the machine that tests lean on: another version of one is another machine. */
const programs = ["runc", "runsc", "conmon", "nft", "ip", "skopeo", "kubectl", "go", "python3", "chromium"];

/**
 * The suite, but what passed is not run again while nothing has changed: no file of the repository that could matter, no
 * program it uses. Kept in the folder of the clone, so that a fresh clone runs everything. `fresh`: run it all the same.
 */
export function remembered(suite: Suite, key: string, { fresh = false }: { fresh?: boolean } = {}): Suite {
  const file = `${folder}/${suite.name.replaceAll(/\W+/g, "-")}.json`;
  return {
    name: suite.name,
    run: async () => {
      const known = read(file);
      if (known?.key === key && !fresh) {
        return {
          ...known.tally,
          output: `Nothing has changed since it passed. To run it all the same: make test FRESH=1`,
        };
      }
      const result = await suite.run();
      const { passed, failed, skipped } = result;
      if (failed === 0) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(file, JSON.stringify({ key, tally: { passed, failed, skipped } }));
      }
      return result;
    },
  };
}

function read(file: string): { key: string; tally: Tally } | undefined {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { key: string; tally: Tally };
  } catch {
    return undefined;
  }
}

/** Stands for everything that a run of the suites depends on; `undefined` outside of a clone, where nobody can tell. */
export function stateOfTheWorld(): string | undefined {
  const files = filesOfTheClone();
  if (files === undefined) return undefined;
  const hash = createHash("sha256").update(`${process.version} ${release()} ${process.getuid?.() ?? ""}\n`);
  for (const name of programs) hash.update(`${name} ${programMark(name)}\n`);
  for (const file of files) {
    hash.update(`${file}\0`).update(content(file)).update("\0");
  }
  return hash.digest("hex");
}

function filesOfTheClone(): string[] | undefined {
  try {
    const arguments_ = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const list = execFileSync("git", arguments_, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
    return list.toString("utf8").split("\0").filter(matters).sort();
  } catch {
    return undefined;
  }
}

/** Texts for people are read by no suite but the check of the format, which takes a second; the unit tests read one page. */
const matters = (file: string): boolean =>
  file === "docs/security.md" || (file !== "" && !/^docs\/|\.md$|^bench\/results\//.test(file));

function content(file: string): Buffer {
  try {
    return readFileSync(`${root}/${file}`);
  } catch {
    return Buffer.from("gone");
  }
}

function programMark(name: string): string {
  for (const path of (process.env["PATH"] ?? "").split(":")) {
    const found = statSync(`${path}/${name}`, { throwIfNoEntry: false });
    if (found !== undefined) return `${path} ${found.size} ${found.mtimeMs}`;
  }
  return "missing";
}
