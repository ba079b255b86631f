import { expect, test } from "vitest";
import { formatSessionCookie, resemblesSession, sessionCookieOf, trimCookie } from "./session-cookie.ts";

test("the session cookie is host-only and HttpOnly", () => {
  expect(formatSessionCookie({ token: "t", maxAgeSeconds: 60, secure: false })).toBe(
    "agent-sandbox-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax",
  );
});

test("the session cookie has the prefix __Host- over TLS", () => {
  expect(formatSessionCookie({ token: "t", maxAgeSeconds: 60, secure: true })).toBe(
    "__Host-agent-sandbox-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
  );
});

test("the session cookie is read by its exact name, and similar names are not forwarded", () => {
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

test("cookies are trimmed like browsers do", () => {
  expect([" \ta b\t ", "\u00a0a", ""].map(trimCookie)).toEqual(["a b", "\u00a0a", ""]);
});
