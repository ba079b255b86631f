/** Builds the npm package of the TypeScript SDK into `dist/sdk`. */
import { execFileSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { type BuildOptions, build } from "esbuild";
import { version } from "./version.ts";

const root = `${import.meta.dirname}/..`;
const source = `${root}/packages/sdk`;

const settings: BuildOptions = {
  absWorkingDir: root,
  bundle: true,
  format: "esm",
  // Without `using`, which Node 24 is the first to have.
  target: "es2022",
  conditions: ["source"],
  legalComments: "none",
  logLevel: "warning",
};

/** The classes of the SDK have methods with these names, which not all browsers know. */
const disposeSymbols = `for (const name of ["dispose", "asyncDispose"])
  if (!(name in Symbol)) Object.defineProperty(Symbol, name, { value: Symbol.for("Symbol." + name) });`;

/** One file for browsers. Fails if it would import a module of Node. */
export async function buildBrowserBundle(outfile: string): Promise<void> {
  const entryPoints = [`${source}/src/browser.ts`];
  await build({ ...settings, platform: "browser", entryPoints, outfile, banner: { js: disposeSymbols } });
}

/** Everything is bundled, so the package has no dependencies, except optional ones for those who use them. Returns its folder. */
export async function buildSdkPackage(folder = `${root}/dist/sdk`): Promise<string> {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  const { name, description, license, peerDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(`${source}/package.json`, "utf8"),
  ) as Manifest;
  // Of packages with several builds, the one in standard modules.
  const neutral = { ...settings, platform: "neutral", outdir: folder, splitting: true } satisfies BuildOptions;
  const external = Object.keys(peerDependencies);
  await build({
    ...neutral,
    entryPoints: ["index", "ai"].map((name) => `${source}/src/${name}.ts`),
    external: ["node:*", ...external],
  });
  await buildBrowserBundle(`${folder}/browser.js`);
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
    exports: {
      ".": { types: "./index.d.ts", browser: "./browser.js", default: "./index.js" },
      "./ai": { types: "./ai.d.ts", default: "./ai.js" },
    },
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
