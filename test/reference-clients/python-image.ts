import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createReadStream, mkdirSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { pipeline } from "node:stream/promises";

const interpreter = "/usr/bin/python3";
/** Of the standard library. They are not needed to run programs. */
const leftOut = ["test", "__pycache__", "dist-packages", "config-*", "idlelib", "ensurepip", "lib2to3"];

/** Writes an archive, as `docker save` does, of an image that has only the Python of this Debian. Returns its path. */
export async function buildPythonImage(folder: string, tag: string): Promise<string> {
  const program = realpathSync(interpreter);
  const run = (file: string, ...words: string[]): string => execFileSync(file, words, { encoding: "utf8" });
  const library = run(program, "-Ic", "import sysconfig; print(sysconfig.get_path('stdlib'))").trim();
  const linked = [...run("ldd", program).matchAll(/(\/\S+) \(0x/g)].map(([, path = ""]) => path);
  const links = join(folder, "links");
  mkdirSync(join(links, "usr/bin"), { recursive: true });
  for (const name of ["python", "python3"]) symlinkSync(program, join(links, "usr/bin", name));
  const layer = join(folder, "layer.tar");
  const files = [program, library, ...linked].map((path) => relative("/", path));
  const excluded = leftOut.map((name) => `--exclude=*/${name}`);
  // Libraries are links on this machine, and the image needs what they lead to.
  run("tar", "--create", "--file", layer, "--dereference", ...excluded, "--directory", "/", ...files);
  run("tar", "--append", "--file", layer, "--directory", links, "usr/bin");
  writeFileSync(join(folder, "config.json"), JSON.stringify(await configOf(layer)));
  const manifest = [{ Config: "config.json", RepoTags: [tag], Layers: ["layer.tar"] }];
  writeFileSync(join(folder, "manifest.json"), JSON.stringify(manifest));
  const archive = join(folder, "image.tar");
  run("tar", "--create", "--file", archive, "--directory", folder, "manifest.json", "config.json", "layer.tar");
  return archive;
}

async function configOf(layer: string): Promise<object> {
  const hash = createHash("sha256");
  await pipeline(createReadStream(layer), hash);
  return {
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Env: ["PATH=/usr/bin"] },
    rootfs: { type: "layers", diff_ids: [`sha256:${hash.digest("hex")}`] },
  };
}
