import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type Layout, layoutOf } from "../layout.ts";
import { sandboxdImage } from "./sandboxd-image.ts";

let folder: string;
let layout: Layout;
let program: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sandboxd-image-"));
  layout = layoutOf(join(folder, "data"));
  mkdirSync(layout.imagesDir, { recursive: true });
  program = join(folder, "sandboxd");
  writeFileSync(program, "the program");
});
afterEach(() => rmSync(folder, { recursive: true }));

const layerOf = ({ layers }: { readonly layers: readonly string[] }): string => layers[0] ?? "";

test("Pods that start together share one copy, which stays in its folder", async () => {
  const open = sandboxdImage(layout, program);
  const seen = await Promise.all(
    Array.from({ length: 20 }, async () => {
      const layer = layerOf(await open());
      return [statSync(layer).ino, readFileSync(join(layer, "sandboxd"), "utf8")];
    }),
  );
  const { ino } = statSync(layerOf(await open()));
  expect(new Set(seen.map(String))).toEqual(new Set([`${ino},the program`]));
});

test("a missing program is used once it exists, and a newer one does not replace the earlier copy", async () => {
  const open = sandboxdImage(layout, program);
  rmSync(program);
  await expect(open()).rejects.toThrow('run "make build"');
  writeFileSync(program, "the program");
  const first = await open();
  writeFileSync(program, "a newer program");
  expect(readFileSync(join(layerOf(await open()), "sandboxd"), "utf8")).toBe("a newer program");
  expect((await open()).id).not.toBe(first.id);
});
