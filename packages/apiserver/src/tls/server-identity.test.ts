import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { adminToken, sameToken } from "../auth/admin-token.ts";
import { type ServerIdentity, serverIdentity } from "./server-identity.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "apiserver-tls-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const day = 24 * 3600 * 1000;
const start = Date.parse("2026-01-01T00:00:00Z");
const identity = (days = 0, names = ["localhost", "127.0.0.1"]): ServerIdentity =>
  serverIdentity({ folder, names, nowMs: start + days * day });

describe("serverIdentity()", () => {
  test("stays the same after a restart", () => {
    expect(identity(10)).toEqual(identity());
  });

  test("is kept in files that only their owner can read", () => {
    identity();
    const modes = readdirSync(folder).map((name) => statSync(join(folder, name)).mode & 0o777);
    expect(modes).toEqual([0o600, 0o600, 0o600, 0o600]);
  });

  test("is renewed before it expires, under the same authority", () => {
    const first = identity();
    const renewed = identity(340);
    expect(renewed.certificate).not.toBe(first.certificate);
    expect(renewed.authority).toEqual(first.authority);
  });

  test("is renewed for new names, and kept when names are dropped", () => {
    const first = identity();
    const more = identity(0, ["localhost", "127.0.0.1", "box.example.com"]);
    expect(more.certificate).not.toBe(first.certificate);
    expect(identity(0, ["localhost"])).toEqual(more);
  });

  test.for(["ca.crt", "ca.key", "server.crt", "server.key"])("is replaced when %s is damaged", (name) => {
    const first = identity();
    writeFileSync(join(folder, name), "garbage");
    const second = identity();
    expect(second.certificate).not.toBe(first.certificate);
    expect(identity()).toEqual(second);
  });
});

describe("adminToken()", () => {
  test("is created once, kept, and random", () => {
    const token = adminToken(folder);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(adminToken(folder)).toBe(token);
    expect(statSync(join(folder, "admin.token")).mode & 0o777).toBe(0o600);
    expect(adminToken(undefined)).not.toBe(adminToken(undefined));
  });

  test("is replaced when its file is empty", () => {
    writeFileSync(join(folder, "admin.token"), "short");
    expect(adminToken(folder)).toMatch(/^[\w-]{43}$/);
  });

  test.for([
    ["a", "a", true],
    ["a", "b", false],
    ["a", "aa", false],
    ["", "a", false],
  ] as const)("%s and %s: %s", ([left, right, same]) => {
    expect(sameToken(left, right)).toBe(same);
  });
});
