import { expect, test } from "vitest";
import { ApiError } from "../api-error.ts";
import { Query } from "./query.ts";

test.each([
  ["", false],
  ["watch=false", false],
  ["watch=False", false],
  ["watch=0", false],
  ["watch", true],
  ["watch=true", true],
  ["watch=True", true],
  ["watch=1", true],
])("reads the flag in %j as %s", (text, flag) => {
  expect(new Query(text).flag("watch")).toBe(flag);
});

test.each(["watch=maybe", "watch=true&watch=false"])("refuses the flag in %j", (text) => {
  expect(() => new Query(text).flag("watch")).toThrow(ApiError);
});
