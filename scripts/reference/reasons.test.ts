import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { stateReasons } from "@agent-sandbox/api";
import { expect, test } from "vitest";
import { reasons } from "./reasons.ts";

const root = join(import.meta.dirname, "../..");
const sources = (glob: string): string =>
  globSync(glob, { cwd: root, exclude: (name) => name.includes(".test.") })
    .map((file) => readFileSync(join(root, file), "utf8"))
    .join("\n");

const documented = Object.values(reasons).flatMap((rows) => rows.map(({ reason }) => reason));

/** Where the controllers write a reason. */
const places = [
  /\breason: "(\w+)"/g,
  /\b(?:notReady|reasons)\("(\w+)"/g,
  /\bsay\("\w+", "(\w+)"/g,
  /\bsay\(\s*"\w+",\s*reasons\("(\w+)"/g,
];

test("every reason that a controller writes is documented", () => {
  const text = sources("packages/controllers/src/{sandbox,claim,warm-pool,template}/**/*.ts");
  const written = places.flatMap((place) => [...text.matchAll(place)].map(([, reason = ""]) => reason));
  expect(new Set(written).size).toBeGreaterThan(25);
  expect([...written, ...stateReasons].filter((reason) => !documented.includes(reason))).toEqual([]);
});

test("every documented reason is written somewhere", () => {
  const text = sources("packages/{controllers,api,node}/src/**/*.ts");
  expect(documented.filter((reason) => reason !== "…" && !text.includes(`"${reason}"`))).toEqual([]);
});
