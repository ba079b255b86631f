import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const shell = "/bin/dash";

/** Writes an archive, as `docker save` does, of an image that has nothing but `/bin/sh`. Returns its path. */
export function buildShellImage(folder: string, tag: string): string {
  const run = (file: string, ...words: string[]): string => execFileSync(file, words, { encoding: "utf8" });
  const program = realpathSync(shell);
  const libraries = [...run("ldd", program).matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  const links = join(folder, "links");
  mkdirSync(join(links, "bin"), { recursive: true });
  mkdirSync(join(links, "tmp"), { mode: 0o1777 });
  symlinkSync(program, join(links, "bin/sh"));
  const layer = join(folder, "layer.tar");
  const files = [program, ...libraries].map((path) => relative("/", path));
  // Libraries are links on this machine, and the image needs what they lead to.
  run("tar", "--create", "--file", layer, "--dereference", "--directory", "/", ...files);
  run("tar", "--append", "--file", layer, "--directory", links, "bin", "tmp");
  const hash = createHash("sha256").update(readFileSync(layer)).digest("hex");
  const config = {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Env: ["PATH=/bin:/usr/bin"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${hash}`] },
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  const manifest = [{ Config: "config.json", RepoTags: [tag], Layers: ["layer.tar"] }];
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  const archive = join(folder, "image.tar");
  run("tar", "--create", "--file", archive, "--directory", folder, "manifest.json", "config.json", "layer.tar");
  return archive;
}
