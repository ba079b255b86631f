import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, resolve } from "node:path";
import { build } from "esbuild";

const source = resolve(import.meta.dirname, "../packages/dashboard/src/page");

/**
 * Builds the page of the dashboard into a folder. Files are named after their content, so browsers may keep them; what the first view
 * does not need is in files of its own. Returns the source files.
 */
export async function buildDashboardPage(folder: string): Promise<readonly string[]> {
  mkdirSync(folder, { recursive: true });
  const { metafile } = await build({
    absWorkingDir: source,
    entryPoints: { main: "main.tsx", icon: "icon.svg" },
    outdir: folder,
    entryNames: "[name]-[hash]",
    chunkNames: "part-[hash]",
    assetNames: "[name]-[hash]",
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    platform: "browser",
    target: ["chrome120", "firefox128", "safari17.4"],
    jsx: "automatic",
    conditions: ["source", "browser"],
    loader: { ".svg": "copy" },
    define: { "process.env.NODE_ENV": '"production"' },
    metafile: true,
    legalComments: "none",
    logLevel: "warning",
  });
  const files = Object.keys(metafile.outputs).map((path) => basename(path));
  const find = (pattern: RegExp): string => files.find((name) => pattern.test(name)) ?? "";
  const page = readFileSync(`${source}/index.html`, "utf8")
    .replace("{{script}}", find(/^main-.*\.js$/))
    .replace("{{style}}", find(/^main-.*\.css$/))
    .replace("{{icon}}", find(/^icon-.*\.svg$/));
  writeFileSync(`${folder}/index.html`, page);
  // A running box has read its files at its start.
  for (const name of readdirSync(folder))
    if (name !== "index.html" && !files.includes(name)) rmSync(`${folder}/${name}`);
  return Object.keys(metafile.inputs);
}
