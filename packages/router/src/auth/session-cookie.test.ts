import { expect, test } from "vitest";
import { type BrowserRequest, cookieMayCount, formatSessionCookie, setsSession } from "./session-cookie.ts";

const own = "http://3000-box.team.localhost:8080";
const asked = (over: Partial<BrowserRequest>): BrowserRequest => ({
  method: "GET",
  origin: undefined,
  fetchSite: undefined,
  fetchMode: undefined,
  ownOrigin: own,
  isUpgrade: false,
  ...over,
});

test.for<[string, BrowserRequest, boolean]>([
  ["no browser", asked({}), true],
  ["a page of its own", asked({ origin: own, fetchSite: "same-origin", fetchMode: "cors" }), true],
  [
    "its own WebSocket",
    asked({ origin: own, fetchSite: "same-origin", fetchMode: "websocket", isUpgrade: true }),
    true,
  ],
  ["an address typed in", asked({ fetchSite: "none", fetchMode: "navigate" }), true],
  ["a link on another site", asked({ fetchSite: "cross-site", fetchMode: "navigate" }), true],
  [
    "a form on another site",
    asked({ method: "POST", fetchSite: "cross-site", fetchMode: "navigate", origin: "http://evil" }),
    false,
  ],
  ["a form on a neighbour's page", asked({ method: "POST", fetchSite: "same-site", fetchMode: "navigate" }), false],
  ["an image on a neighbour's page", asked({ fetchSite: "same-site", fetchMode: "no-cors" }), false],
  ["a neighbour's script", asked({ origin: "http://3000-evil.team.localhost:8080", fetchSite: "same-site" }), false],
  ["a neighbour's WebSocket", asked({ origin: "http://3000-evil.team.localhost:8080", isUpgrade: true }), false],
  ["a WebSocket that navigates", asked({ fetchSite: "same-site", fetchMode: "navigate", isUpgrade: true }), false],
  ["a page without an origin", asked({ origin: "null" }), false],
  ["another port of the same sandbox", asked({ origin: "http://4000-box.team.localhost:8080" }), false],
  ["the same host without TLS", asked({ origin: own.replace("http", "https") }), false],
])("%s", ([, request, expected]) => {
  expect(cookieMayCount(request)).toBe(expected);
});

test("is for this host alone, and for no script", () => {
  expect(formatSessionCookie({ token: "t", maxAgeSeconds: 60, secure: true })).toBe(
    "agent-sandbox-session=t; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure",
  );
  expect(
    [" agent-sandbox-session=x", "agent-sandbox-session-2=x", "other=agent-sandbox-session="].map(setsSession),
  ).toEqual([true, false, false]);
});
