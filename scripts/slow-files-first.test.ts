import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { slowFiles } from "./slow-files-first.ts";

test("every slow file exists", () => {
  expect(slowFiles.filter((file) => !existsSync(`${import.meta.dirname}/../${file}`))).toEqual([]);
});
