import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { StateKeys, stateKeyOf } from "./state-keys.ts";

describe("keys for saved state", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "keys-"));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  const write = async (name: string, content: string | Uint8Array, mode = 0o600): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, content, { mode });
    return path;
  };
  const secret = randomBytes(32);

  test("a key can be raw, hexadecimal or base64", async () => {
    const forms = {
      raw: secret,
      hex: `${secret.toString("hex")}\n`,
      base64: `${secret.toString("base64")}\n`,
      base64url: secret.toString("base64url"),
    };
    for (const [name, content] of Object.entries(forms)) {
      const keys = await StateKeys.read([await write(name, content)]);
      expect({ name, key: keys.current }).toEqual({ name, key: stateKeyOf(secret) });
    }
  });

  test("the first key is for new files, and the id does not contain the key", async () => {
    const files = [await write("first", secret), await write("second", randomBytes(32))];
    const keys = await StateKeys.read(files);
    expect(keys.current).toEqual(stateKeyOf(secret));
    expect(keys.current?.id).toMatch(/^[0-9a-f]{16}$/);
    expect(secret.toString("hex")).not.toContain(keys.current?.id);
    expect(new StateKeys([]).current).toBeUndefined();
  });

  test.for([
    ["short", randomBytes(31), 0o600, "must contain 32 bytes"],
    ["long", randomBytes(33), 0o600, "must contain 32 bytes"],
    ["huge", randomBytes(300), 0o600, "it has 300 bytes; a key has 32"],
    ["empty", "", 0o600, "must contain 32 bytes"],
    ["zero", Buffer.alloc(32), 0o600, "not random"],
    ["group", secret, 0o640, "other users can access it (mode 0640); use 0600"],
    ["others", secret, 0o604, "other users can access it (mode 0604)"],
  ] as const)("a key file is refused: %s", async ([name, content, mode, message]) => {
    const path = await write(`refused-${name}`, content, mode);
    await expect(StateKeys.read([path])).rejects.toMatchObject({ message: expect.stringContaining(message) });
    await expect(StateKeys.read([path])).rejects.toThrow(`Cannot use the state key "${path}":`);
  });

  test.for([
    ["a missing file", "/nonexistent/key", "ENOENT"],
    ["a folder", "/", "not a regular file"],
    ["a device", "/dev/zero", "not a regular file"],
  ])("%s is refused", async ([, path = "", message]) => {
    await expect(StateKeys.read([path])).rejects.toThrow(message);
  });
});
