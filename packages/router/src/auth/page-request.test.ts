import { expect, test } from "vitest";
import { certificateMayCount, cookieMayCount, forwardMayCount, type PageRequest } from "./page-request.ts";

const host = "3000-box.team.localhost:8080";
const own = `http://${host}`;
const neighbour = "http://3000-evil.team.localhost:8080";
const asked = (over: Partial<PageRequest>): PageRequest => ({
  method: "GET",
  origin: undefined,
  fetchSite: undefined,
  fetchMode: undefined,
  fetchDest: undefined,
  host,
  isSecure: false,
  isUpgrade: false,
  isOwnHost: true,
  isNamedByHeader: false,
  ...over,
});
const link = { fetchMode: "navigate", fetchDest: "document" };

test.for<[what: string, request: PageRequest, cookie: boolean, certificate: boolean]>([
  ["a client that is not a browser", asked({}), false, true],
  ["a page of its own", asked({ origin: own, fetchSite: "same-origin", fetchMode: "cors" }), true, true],
  ["an image on its own page", asked({ fetchSite: "same-origin", fetchMode: "no-cors" }), true, true],
  ["its own WebSocket", asked({ origin: own, isUpgrade: true }), true, true],
  ["an address typed in", asked({ fetchSite: "none", ...link }), true, true],
  ["a link on another site", asked({ fetchSite: "cross-site", ...link }), true, true],
  ["a link on a neighbour's page", asked({ fetchSite: "same-site", ...link }), true, true],
  ["a frame in a neighbour's page", asked({ fetchSite: "same-site", ...link, fetchDest: "iframe" }), false, false],
  ["an object in a neighbour's page", asked({ fetchSite: "same-site", ...link, fetchDest: "object" }), false, false],
  [
    "a form on another site",
    asked({ method: "POST", fetchSite: "cross-site", ...link, origin: "http://evil" }),
    false,
    false,
  ],
  ["a form without an origin", asked({ method: "POST", fetchSite: "same-site", ...link }), false, false],
  ["an image on a neighbour's page", asked({ fetchSite: "same-site", fetchMode: "no-cors" }), false, false],
  ["a neighbour's script", asked({ origin: neighbour, fetchSite: "same-site" }), false, false],
  ["a neighbour's script that claims more", asked({ origin: neighbour, fetchSite: "same-origin" }), false, false],
  ["a neighbour's WebSocket", asked({ origin: neighbour, isUpgrade: true }), false, false],
  ["a WebSocket that navigates", asked({ fetchSite: "same-site", ...link, isUpgrade: true }), false, false],
  ["a page without an origin", asked({ origin: "null" }), false, false],
  ["another port of the same sandbox", asked({ origin: "http://4000-box.team.localhost:8080" }), false, false],
  ["a page over TLS, behind a proxy that ends it", asked({ origin: own.replace("http", "https") }), true, true],
  ["a page without TLS, to a host with it", asked({ origin: own, isSecure: true }), false, false],
  ["a page on the shared host", asked({ isOwnHost: false, fetchSite: "same-origin", fetchMode: "cors" }), false, false],
  ["a script on the shared host", asked({ isOwnHost: false, origin: own, fetchSite: "same-origin" }), false, false],
  ["a link to the shared host", asked({ isOwnHost: false, fetchSite: "cross-site", ...link }), false, true],
  ["a program, to the shared host", asked({ isOwnHost: false }), false, true],
])("%s", ([, request, cookie, certificate]) => {
  expect([cookieMayCount(request), certificateMayCount(request)]).toEqual([cookie, certificate]);
});

const forwarded = (over: Partial<PageRequest>): PageRequest =>
  asked({ host: "127.0.0.1:40123", isOwnHost: false, isNamedByHeader: true, ...over });

test.for<[what: string, request: PageRequest, expected: boolean]>([
  ["a program", forwarded({}), true],
  ["a program that posts", forwarded({ method: "POST" }), true],
  ["a program, to localhost", forwarded({ host: "localhost:40123" }), true],
  ["a program, to an IPv6 address", forwarded({ host: "[::1]:40123" }), true],
  ["a program, without a port", forwarded({ host: "10.0.0.7" }), true],
  ["a script on any page", forwarded({ origin: "http://evil", fetchSite: "cross-site" }), false],
  ["a script of the same origin", forwarded({ origin: "http://127.0.0.1:40123" }), false],
  ["an image on any page", forwarded({ fetchSite: "cross-site", isNamedByHeader: false }), false],
  ["an address typed in", forwarded({ fetchSite: "none", ...link, isNamedByHeader: false }), false],
  ["a form of an old browser", forwarded({ method: "POST", isNamedByHeader: false }), false],
  ["a page whose name resolves to the machine", forwarded({ host: "evil.example:40123" }), false],
  ["a name that looks like an address", forwarded({ host: "127.0.0.1.evil.example:40123" }), false],
  ["a name that looks like localhost", forwarded({ host: "localhost.evil.example" }), false],
  ["no host", forwarded({ host: "" }), false],
])("the identity of a port-forward: %s", ([, request, expected]) => {
  expect(forwardMayCount(request)).toBe(expected);
});
