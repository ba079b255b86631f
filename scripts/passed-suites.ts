import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { release } from "node:os";
import type { Suite, Tally } from "./suites.ts";

const root = `${import.meta.dirname}/..`;
const folder = `${root}/.cache/passed`;

/** Programs of the machine that the tests use. Another version of one of them is a reason to run everything again, and so is one that is new. */
const programs =
  "runc runsc conmon nft iptables ip busybox /usr/lib/cni/bridge skopeo kubectl go python3 chromium".split(" ");

/**
 * Wraps a suite so that it is skipped if it passed before with the same `key`. Results are kept in the folder of the clone,
 * so a fresh clone runs everything. With `fresh` the suite always runs.
 */
export function skipIfPassed(suite: Suite, key: string, { fresh = false }: { fresh?: boolean } = {}): Suite {
  const file = `${folder}/${suite.name.replaceAll(/\W+/g, "-")}.json`;
  return {
    ...suite,
    run: async () => {
      const passed = read(file);
      if (passed?.key === key && !fresh) {
        const output = "Skipped: it passed before and nothing has changed. To run it anyway: make test FRESH=1";
        return { ...passed.tally, output };
      }
      const result = await suite.run();
      const { passed: count, failed, skipped } = result;
      if (failed === 0) {
        mkdirSync(folder, { recursive: true });
        writeFileSync(file, JSON.stringify({ key, tally: { passed: count, failed, skipped } }));
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

/** Suites that read or run pages of the documentation. */
const readers: ReadonlySet<string> = new Set(["unit", "docs", "examples", "sdk"]);

/**
 * A hash of everything that the result of a suite can depend on: the files of the clone, the programs, the kernel, Node and
 * the user. Undefined outside a git clone, where changes cannot be noticed.
 */
export function hashOfInputs(suite: string): string | undefined {
  const files = filesOfClone()?.filter((file) => readers.has(suite) || !isPage(file));
  if (files === undefined) return undefined;
  const hash = createHash("sha256").update(`${process.version} ${release()} ${process.getuid?.() ?? ""}\n`);
  for (const name of programs) hash.update(`${name} ${fingerprintOf(name)}\n`);
  for (const file of files) {
    hash.update(`${file}\0`).update(contentOf(file)).update("\0");
  }
  return hash.digest("hex");
}

const isPage = (file: string): boolean => /^docs\/|\.md$/.test(file);

function filesOfClone(): string[] | undefined {
  try {
    const arguments_ = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
    const list = execFileSync("git", arguments_, { cwd: root, stdio: ["ignore", "pipe", "ignore"] });
    const files = list.toString("utf8").split("\0");
    // Recorded results of benchmarks affect no suite.
    return files.filter((file) => file !== "" && !file.startsWith("bench/results/")).sort();
  } catch {
    return undefined;
  }
}

function contentOf(file: string): Buffer {
  try {
    return readFileSync(`${root}/${file}`);
  } catch {
    return Buffer.from("deleted");
  }
}

function fingerprintOf(program: string): string {
  const folders = program.startsWith("/") ? [""] : (process.env["PATH"] ?? "").split(":").map((path) => `${path}/`);
  for (const folder of folders) {
    const found = statSync(folder + program, { throwIfNoEntry: false });
    if (found !== undefined) return `${folder} ${found.size} ${found.mtimeMs}`;
  }
  return "missing";
}
