import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { version as versionOfCli } from "../packages/cli/src/version.ts";
import { version } from "./version.ts";

const root = `${import.meta.dirname}/..`;

test("the version is a semantic version", () => {
  expect(version).toMatch(/^\d+\.\d+\.\d+(?:-[0-9a-z.-]+)?$/);
});

test("the command line has the version of the root package.json", () => {
  expect(versionOfCli).toBe(version);
});

test("no package has a version of its own", () => {
  const manifests = globSync("packages/*/package.json", { cwd: root });
  expect(manifests.length).toBeGreaterThan(5);
  expect(manifests.filter((file) => "version" in JSON.parse(readFileSync(`${root}/${file}`, "utf8")))).toEqual([]);
});

test("the manifests of deploy/ use images of this version", () => {
  const images = globSync("deploy/*.yaml", { cwd: root }).flatMap((file) =>
    [...readFileSync(`${root}/${file}`, "utf8").matchAll(/(?:image: |--runtime-image=)"?(localhost\/[^\s"]*)/g)].map(
      ([, image]) => image,
    ),
  );
  expect(new Set(images)).toEqual(
    new Set([`localhost/agent-sandbox:${version}`, `localhost/agent-sandbox-runtime:${version}`]),
  );
});
