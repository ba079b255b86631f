import { expect, test } from "vitest";
import { type LogsOptions, logQuery } from "./logs.ts";

test.for<[LogsOptions, string]>([
  [{}, ""],
  [{ follow: true, timestamps: true, container: "main" }, "follow=true&timestamps=true&container=main"],
  [{ previous: true, tail: "0" }, "previous=true&tailLines=0"],
  [{ since: "5m" }, "sinceSeconds=300"],
])("%j asks for %s", ([options, expected]) => {
  expect(logQuery(options).toString()).toBe(expected);
});

test.for(["-1", "all", "1.5"])("refuses --tail=%s", (tail) => {
  expect(() => logQuery({ tail })).toThrow("--tail must be a number of lines");
});
