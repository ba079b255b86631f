import { expect, test } from "vitest";
import { imageNames, readSource } from "./sources.ts";

test("an image comes after the one that it extends, and starts with what that one starts with", () => {
  const sources = imageNames.map(readSource);
  for (const [index, { from, defaults }] of sources.entries()) {
    if (from === undefined) continue;
    const below = sources.slice(0, index).find(({ reference }) => reference.includes(`/${from}:`));
    const { Env: variables = [], ...others } = defaults;
    const { Env: variablesBelow = [], ...othersBelow } = below?.defaults ?? {};
    expect(variables).toEqual(expect.arrayContaining([...variablesBelow]));
    expect(others).toEqual(othersBelow);
  }
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
