import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { RegistrySource } from "./current-registries.ts";
import type { RegistrySettings } from "./registries.ts";

test("registries are read for each pull, and invalid ones leave the last valid ones in force", async () => {
  const folder = await mkdtemp(join(tmpdir(), "registries-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  let settings: readonly RegistrySettings[] = [];
  const source = new RegistrySource(folder, async () => settings);
  expect(await source.current()).toEqual({ settings: [], file: undefined });
  settings = [{ name: "lan:5000", insecure: true }];
  const { file = "" } = await source.current();
  expect(await readFile(file, "utf8")).toContain('location = "lan:5000"\ninsecure = true');
  settings = [{ name: "not a host" }];
  expect((await source.current()).settings).toEqual([{ name: "lan:5000", insecure: true }]);
  await expect(new RegistrySource(folder, async () => settings).current()).rejects.toThrow(
    'Cannot use registry "not a host"',
  );
});
