import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BuiltArchive } from "./build-images.ts";
import { unpackImage } from "./unpack.ts";

const rounds = 5;

/** The fastest of five starts of this machine's architecture, each until the help is printed. Empty without root. */
export function startTimes([operator, runtime]: readonly BuiltArchive[]): [string, number][] {
  if (process.getuid?.() !== 0 || operator === undefined || runtime === undefined) return [];
  const architecture = process.arch === "arm64" ? "arm64" : "amd64";
  const work = mkdtempSync(join(operator.file, "../start-"));
  try {
    const timeOf = ({ file }: BuiltArchive, name: string, command: readonly string[]): number => {
      const folder = join(work, name);
      const { config } = unpackImage(file, architecture, folder);
      const words = command.length > 0 ? command : [...(config.Entrypoint ?? []), "--help"];
      const run = ["--userspec=65532:65532", join(folder, "rootfs"), ...words];
      const times = Array.from({ length: rounds }, () => {
        const started = performance.now();
        execFileSync("chroot", run, { stdio: "ignore" });
        return performance.now() - started;
      });
      return Math.min(...times);
    };
    return [
      ["manager --help starts and ends in", timeOf(operator, "operator", [])],
      ["sandboxd --version starts and ends in", timeOf(runtime, "runtime", ["/sandboxd", "--version"])],
    ];
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
