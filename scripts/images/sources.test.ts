import { expect, test } from "vitest";
import { imageNames, readSource } from "./sources.ts";

test("an image comes after the one that it extends", () => {
  const early = imageNames.filter((name, index) => {
    const { from } = readSource(name);
    return from !== undefined && !imageNames.slice(0, index).some((below) => below === from);
  });
  expect(early).toEqual([]);
});

test("containers of an image without defaults start as those of the image that it extends", () => {
  const { defaults } = readSource("code-interpreter");
  expect(defaults).toEqual(readSource("workspace").defaults);
  expect(defaults).toMatchObject({ WorkingDir: "/workspace", Cmd: ["sleep", "infinity"] });
});

test("packages are listed once and in order, without comments", () => {
  for (const { packages } of imageNames.map(readSource)) {
    expect(packages).toEqual([...new Set(packages)].sort());
    expect(packages.length).toBeGreaterThan(5);
    expect(packages.filter((name) => !/^[a-z0-9][a-z0-9.+-]+$/.test(name))).toEqual([]);
  }
});

test("names of images have a tag that no node asks a registry for", () => {
  for (const { reference } of imageNames.map(readSource)) expect(reference).toMatch(/^localhost\/[a-z-]+:(?!latest)/);
});
