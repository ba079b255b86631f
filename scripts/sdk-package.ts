/** Builds the npm package of the TypeScript SDK into `dist/sdk`. */
import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { build } from "esbuild";
import { version } from "./version.ts";

const root = `${import.meta.dirname}/..`;
const source = `${root}/packages/sdk`;

/** Everything is bundled, so the package has no dependencies, except optional ones for those who use them. Returns its folder. */
export async function buildSdkPackage(folder = `${root}/dist/sdk`): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { name, description, license, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(`${source}/package.json`, "utf8"),
  ) as Manifest;
  await build({
    absWorkingDir: root,
    entryPoints: { index: `${source}/src/index.ts` },
    outdir: folder,
    bundle: true,
    splitting: true,
    format: "esm",
    // Of packages with several builds, the one in standard modules.
    platform: "neutral",
    external: ["node:*", ...Object.keys(peerDependencies)],
    // Without `using`, which Node 24 is the first to have.
    target: "es2022",
    conditions: ["source"],
    legalComments: "none",
    logLevel: "warning",
  });
  execFileSync("tsc", ["-b", source], { cwd: root, stdio: "inherit" });
  writeDeclarations(folder);
  const manifest = {
    name,
    version,
    description,
    license,
    type: "module",
    sideEffects: false,
    engines: { node: ">=20.3" },
    peerDependencies,
    peerDependenciesMeta,
    exports: { ".": { types: "./index.d.ts", default: "./index.js" } },
  };
  writeFileSync(`${folder}/package.json`, `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(`${root}/LICENSE`, `${folder}/LICENSE`);
  copyFileSync(`${root}/docs/guides/typescript.md`, `${folder}/README.md`);
  return folder;
}

interface Manifest {
  readonly name: string;
  readonly description: string;
  readonly license: string;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional: boolean }>>;
}

/** The declarations of public types. Those of `discover.ts` name types of another package and are not public. */
function writeDeclarations(folder: string): void {
  const files = globSync("**/*.d.ts", { cwd: `${source}/dist` }).filter(
    (file) => !/\.test\.d\.ts$|discover\.d\.ts$/.test(file),
  );
  for (const file of files) {
    const text = readFileSync(`${source}/dist/${file}`, "utf8").replaceAll(/(from "\.[^"]*)\.ts"/g, '$1.js"');
    mkdirSync(dirname(`${folder}/${file}`), { recursive: true });
    writeFileSync(`${folder}/${file}`, text);
  }
}

if (import.meta.main) console.log(await buildSdkPackage());
