import { expect, test } from "vitest";
import { formatSessionCookie, resemblesSession, sessionCookieOf, trimCookie } from "./session-cookie.ts";

test("is for this host alone, and for no script", () => {
  expect(formatSessionCookie({ token: "t", maxAgeSeconds: 60, secure: false })).toBe(
    "agent-sandbox-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax",
  );
});

test("has a name over TLS that browsers let no neighbour set", () => {
  expect(formatSessionCookie({ token: "t", maxAgeSeconds: 60, secure: true })).toBe(
    "__Host-agent-sandbox-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
  );
});

test("is read under its exact names, and kept from sandboxes in any case", () => {
  const names = [
    "agent-sandbox-session",
    "__Host-agent-sandbox-session",
    "Agent-Sandbox-Session",
    "__host-agent-sandbox-session",
  ];
  expect(names.map((name) => sessionCookieOf(name)?.isHostOnly)).toEqual([false, true, undefined, undefined]);
  expect([...names, "agent-sandbox-session-2", ""].map(resemblesSession)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
  ]);
});

test("is trimmed as browsers do", () => {
  expect([" \ta b\t ", "\u00a0a", ""].map(trimCookie)).toEqual(["a b", "\u00a0a", ""]);
});
