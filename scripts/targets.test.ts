import { existsSync, readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import config from "../vitest.config.ts";
import { tests } from "./suites.ts";

const root = `${import.meta.dirname}/..`;
const targets = [...readFileSync(`${root}/Makefile`, "utf8").matchAll(/^([a-z0-9-]+):/gm)].map(([, name = ""]) => name);

interface Project {
  readonly test: { readonly name: string; readonly include: readonly string[] };
}
const projects = (config.test?.projects ?? []) as readonly Project[];

const suffixes = (prefix: string): string[] =>
  targets.filter((target) => target.startsWith(prefix)).map((target) => target.slice(prefix.length));

const folders = (parent: string): string[] =>
  readdirSync(`${root}/${parent}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== "results")
    .map(({ name }) => name);

test("every suite has a make target of the same name", () => {
  const names = tests.map(({ name }) => name);
  expect(names.filter((name) => !targets.includes(`test-${name}`))).toEqual([]);
});

test("every test target is named after a suite, or after a folder of test/", () => {
  const names = [...tests.map(({ name }) => name), ...folders("test")];
  const isKnown = (target: string): boolean =>
    names.some((name) => target === name || target.startsWith(`${name}-`)) && targets.includes(`test-${target}`);
  expect(suffixes("test-").filter((target) => !isKnown(target))).toEqual([]);
});

test("every folder of test/ has a make target of the same name", () => {
  expect(folders("test").filter((folder) => !targets.includes(`test-${folder}`))).toEqual([]);
});

test("every integration project takes its tests from folders of the same name", () => {
  const wrong = projects
    .filter(({ test: { name } }) => name !== "unit")
    .flatMap(({ test: { name, include } }) =>
      include.filter((glob) => !glob.startsWith(`packages/${name}/`) && !glob.startsWith(`test/${name}/`)),
    );
  expect(wrong).toEqual([]);
});

test("every benchmark target runs the folder of the same name", () => {
  expect(suffixes("bench-").sort()).toEqual(folders("bench").sort());
  expect(folders("bench").filter((suite) => !existsSync(`${root}/bench/${suite}/main.ts`))).toEqual([]);
});
