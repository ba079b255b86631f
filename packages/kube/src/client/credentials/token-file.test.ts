import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { tokenFileCredentials } from "./token-file.ts";

function setUp(token: string) {
  const folder = mkdtempSync(join(tmpdir(), "token-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "token");
  writeFileSync(path, token);
  const time = { now: 0 };
  const clock = { now: () => time.now, sleep: async () => undefined };
  return { path, time, credentials: tokenFileCredentials(path, clock) };
}

test("reads a replaced token within a minute, and not on every request", async () => {
  const { path, time, credentials } = setUp("one\n");
  expect(await credentials.get()).toEqual({ authorization: "Bearer one" });
  writeFileSync(path, "two");
  time.now = 59_999;
  expect(await credentials.get()).toEqual({ authorization: "Bearer one" });
  time.now = 60_000;
  expect(await credentials.get()).toEqual({ authorization: "Bearer two" });
});

test("reads the file at once when the server rejects the token", async () => {
  const { path, credentials } = setUp("one");
  const refused = await credentials.get();
  writeFileSync(path, "two");
  expect(await credentials.renew(refused)).toEqual({ authorization: "Bearer two" });
  expect(await credentials.get()).toEqual({ authorization: "Bearer two" });
});

test("keeps the last token while the file cannot be read", async () => {
  const { path, time, credentials } = setUp("one");
  await credentials.get();
  rmSync(path);
  time.now = 60_000;
  expect(await credentials.get()).toEqual({ authorization: "Bearer one" });
});
