import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fetchedPackageFolder } from "../../scripts/npm-package.ts";
import { buildSdkPackage } from "../../scripts/sdk-package.ts";
import { Box, buildCommandLine, execute, whyNoBox } from "../e2e/box.ts";

const reason = whyNoBox() ?? (process.arch === "x64" ? undefined : "has Deno and Bun for x64 only");
if (reason !== undefined) console.warn(`skipped: the test ${reason}`);

const root = join(import.meta.dirname, "../..");

const bun = {
  name: "@oven/bun-linux-x64",
  version: "1.4.4",
  integrity: "sha512-CHbbkmHVM28T1GFq+6GL4Ao4ujwwYwj1CxFFwEFzLanPfNsId9AhbIP0Q4reWuWBkGimUkoQygrK7Rgjtj3vog==",
};
const deno = {
  name: "@deno/linux-x64-glibc",
  version: "2.9.6",
  integrity: "sha512-3md4TKLCuzsLDmfOoC5KN7NAZaxSVkMgm64vg6foD00JBADCpYS2/5QqXfzgnP5ZQz3iLP9vBQJtEgc116OAoQ==",
};

/** Each returns the words of a command that runs a TypeScript file. */
const runtimes: Readonly<Record<string, () => string[]>> = {
  Node: () => ["node", "--disable-warning=ExperimentalWarning"],
  Bun: () => [`${fetchedPackageFolder(bun.name, bun)}/bin/bun`],
  Deno: () => [
    "DENO_NO_UPDATE_CHECK=1",
    `${fetchedPackageFolder(deno.name, deno)}/deno`,
    "run",
    "--allow-all",
    "--node-modules-dir=manual",
  ],
};

describe.skipIf(reason !== undefined)("the npm package of the SDK", { timeout: 180_000 }, () => {
  let box: Box;
  let app: string;

  beforeAll(async () => {
    app = mkdtempSync(join(tmpdir(), "sdk-package-"));
    buildCommandLine();
    const packed = await buildSdkPackage(join(app, "package"));
    execFileSync("npm", ["pack", "--silent", "--pack-destination", app], { cwd: packed });
    writeFileSync(join(app, "package.json"), JSON.stringify({ name: "app", private: true, type: "module" }));
    const archive = execFileSync("sh", ["-c", "ls *.tgz"], { cwd: app, encoding: "utf8" }).trim();
    execFileSync("npm", ["install", "--silent", "--no-audit", "--no-fund", `./${archive}`], { cwd: app });
    const [, example = ""] =
      /^```ts\n(.*?)^```$/ms.exec(readFileSync(join(root, "docs/guides/typescript.md"), "utf8")) ?? [];
    writeFileSync(join(app, "example.ts"), example);
    box = await Box.make();
    const { code, stderr } = await box.up();
    if (code !== 0) throw new Error(stderr);
  });
  afterAll(async () => {
    await box?.[Symbol.asyncDispose]();
    rmSync(app, { recursive: true, force: true });
  });

  test.each(Object.keys(runtimes))("runs the first example of the guide with %s", async (runtime) => {
    const words = [`AGENT_SANDBOX_DATA_DIR=${box.dataDir}`, ...(runtimes[runtime]?.() ?? []), join(app, "example.ts")];
    const { code, stdout, stderr } = await execute("env", ["-C", app, ...words], "");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^0 Hello from sandbox-/);
  });

  test("has types that a strict program can use", async () => {
    const compilerOptions = {
      module: "nodenext",
      target: "es2024",
      lib: ["es2024", "esnext.disposable", "dom"],
      strict: true,
      noEmit: true,
      types: [],
    };
    writeFileSync(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["example.ts"] }));
    expect(await execute("tsc", ["-p", app], "")).toEqual({ code: 0, stdout: "", stderr: "" });
  });

  test("has a build for browsers, which bundlers find", async () => {
    const stdin = { contents: 'export { connect } from "@agent-sandbox/sdk";', resolveDir: app };
    const { outputFiles } = await build({ stdin, bundle: true, platform: "browser", format: "esm", write: false });
    expect(outputFiles[0]?.text).toContain("a browser needs the options router and token");
  });

  test("has no dependencies", () => {
    const manifest = JSON.parse(
      readFileSync(join(app, "node_modules/@agent-sandbox/sdk/package.json"), "utf8"),
    ) as object;
    expect(manifest).toMatchObject({ name: "@agent-sandbox/sdk", type: "module" });
    expect(manifest).not.toHaveProperty("dependencies");
  });
});
