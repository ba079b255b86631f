import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Login } from "./login-codes.ts";
import { SessionFile } from "./session-file.ts";
import { type Session, Sessions } from "./sessions.ts";

const hourMs = 3_600_000;
const perUser = 32;

let now: number;
let stack: DisposableStack;
beforeEach(() => {
  now = Date.UTC(2026, 0, 1);
  stack = new DisposableStack();
});
afterEach(() => stack.dispose());

const start = (file?: SessionFile): Sessions => stack.use(new Sessions(file, () => now));
const login = (user: string, tokenExpiresAt = Number.POSITIVE_INFINITY): Login => ({
  token: `token of ${user}`,
  user,
  namespace: "default",
  tokenExpiresAt,
});
const account = (namespace: string, name: number | string): string => `system:serviceaccount:${namespace}:${name}`;

/** The session that a new login gets, and its cookie. */
function open(sessions: Sessions, user: string): Session & { readonly cookie: string } {
  const { cookie } = sessions.open(login(user));
  return { ...(sessions.find(cookie) as Session), cookie };
}

const isFull = (sessions: Sessions, user: string): boolean => {
  try {
    sessions.open(login(user));
    return false;
  } catch (error) {
    expect(error).toMatchObject({ status: 429 });
    return true;
  }
};

function file(): { readonly path: string; readonly file: SessionFile } {
  const folder = mkdtempSync(join(tmpdir(), "sessions-"));
  stack.defer(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "sessions.json");
  return { path, file: new SessionFile(path) };
}

describe("a session ends", () => {
  test.for([
    ["after eight hours", undefined, 8 * hourMs],
    ["after eight hours, also if the token is valid for longer", 9 * hourMs, 8 * hourMs],
    ["with its token", hourMs, hourMs],
  ] as const)("%s", ([, tokenMs, lifetimeMs]) => {
    const sessions = start();
    const made = sessions.open(login("alice", tokenMs && now + tokenMs));
    expect(made.maxAgeSeconds).toBe(lifetimeMs / 1000);
    now += lifetimeMs - 1;
    expect(sessions.find(made.cookie)?.user).toBe("alice");
    now += 1;
    expect(sessions.find(made.cookie)).toBeUndefined();
  });

  test("at once if its token has expired", () => {
    const sessions = start();
    const made = sessions.open(login("alice", now - 1));
    expect([made.maxAgeSeconds, sessions.find(made.cookie)]).toEqual([0, undefined]);
  });

  test("with everything that it has open, and no other session with it", () => {
    const sessions = start();
    const [one, other] = [open(sessions, "alice"), open(sessions, "alice")];
    sessions.end(one);
    expect([one.signal.aborted, other.signal.aborted]).toEqual([true, false]);
    expect([sessions.find(one.cookie), sessions.find(other.cookie)?.id]).toEqual([undefined, other.id]);
    sessions.end(one);
  });

  test.for([undefined, "", "x", "x".repeat(43), "__proto__"])("and is not found by the cookie %j", (cookie) => {
    const sessions = start();
    const { id } = open(sessions, "alice");
    expect([sessions.find(cookie), sessions.find(id)]).toEqual([undefined, undefined]);
  });
});

describe("sessions are limited:", () => {
  test("a user's newest stay, and sessions of others are not touched", () => {
    const sessions = start();
    const admin = open(sessions, "admin");
    const [first, second] = [open(sessions, "mallory"), open(sessions, "mallory")];
    for (let i = 0; i < perUser - 1; i += 1) open(sessions, "mallory");
    expect([first.signal.aborted, second.signal.aborted]).toEqual([true, false]);
    for (let i = 0; i < 2000; i += 1) open(sessions, "mallory");
    expect([second.signal.aborted, admin.signal.aborted]).toEqual([true, false]);
    expect(sessions.find(admin.cookie)?.user).toBe("admin");
  });

  test("service accounts of a namespace have at most half of what is free, and end no session of each other", () => {
    const sessions = start();
    const admin = open(sessions, "admin");
    const first = open(sessions, account("mallory", "first"));
    let accounts = 1;
    while (!isFull(sessions, account("mallory", accounts))) accounts += 1;
    expect(accounts).toBe(500);
    // An account that has a session gets a newer one in its place.
    const next = open(sessions, account("mallory", "first"));
    expect([first.signal.aborted, next.signal.aborted, admin.signal.aborted]).toEqual([true, false, false]);
    expect(isFull(sessions, account("mallory", "another"))).toBe(true);
    for (const user of ["admin", "bob", account("bob", "one"), "system:serviceaccount:mallory"]) open(sessions, user);
    expect(sessions.find(admin.cookie)?.user).toBe("admin");
  });

  test("those that end make room", () => {
    const sessions = start();
    const accounts: Session[] = [];
    while (accounts.length < 500) accounts.push(open(sessions, account("mallory", accounts.length)));
    expect(isFull(sessions, account("mallory", "another"))).toBe(true);
    for (const session of accounts.slice(0, 2)) sessions.end(session);
    expect(isFull(sessions, account("mallory", "another"))).toBe(false);
  });
});

describe("a restart", () => {
  test("keeps sessions that have not expired, and nothing else of them than needed", () => {
    const { path, file: saved } = file();
    const before = start(saved);
    const short = before.open(login("bob", now + hourMs));
    const made = open(before, "alice");
    expect(Object.keys((JSON.parse(readFileSync(path, "utf8")) as object[])[1] ?? {}).toSorted()).toEqual([
      "expiresAt",
      "id",
      "namespace",
      "requestToken",
      "token",
      "tokenExpiresAt",
      "user",
    ]);
    expect(readFileSync(path, "utf8")).not.toContain(made.cookie);
    now += hourMs;
    const after = start(saved);
    expect(after.find(short.cookie)).toBeUndefined();
    const { id, requestToken, token, expiresAt } = made;
    expect(after.find(made.cookie)).toMatchObject({ id, requestToken, token, expiresAt, user: "alice" });
  });

  test("applies the limits to a file with more", () => {
    const { file: saved } = file();
    const one = { ...login("mallory"), requestToken: "x", expiresAt: now + hourMs };
    const admin = { ...one, user: "admin", id: "admin" };
    saved.write([admin, ...Array.from({ length: 1000 }, (_, number) => ({ ...one, id: String(number) }))]);
    const sessions = start(saved);
    open(sessions, "bob");
    const users = saved.read().map(({ user }) => user);
    expect(users.filter((user) => user === "mallory").length).toBe(perUser);
    expect(users.filter((user) => user !== "mallory")).toEqual(["admin", "bob"]);
  });
});
