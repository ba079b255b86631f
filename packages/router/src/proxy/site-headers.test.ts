import { expect, test } from "vitest";
import type { Route } from "../route/route.ts";
import { forHttp2, responseHead } from "./response-head.ts";
import { keptCookie } from "./set-cookie.ts";

const prefix = "/sandboxes/team/box/3000";

test.for<[given: string, host: string | undefined, path: string | undefined]>([
  ["a=b", "a=b", `a=b; Path=${prefix}`],
  ["a=b; Path=/; HttpOnly; Secure", "a=b; Path=/; HttpOnly; Secure", `a=b; HttpOnly; Secure; Path=${prefix}`],
  ["a=b; Path=/app", "a=b; Path=/app", `a=b; Path=${prefix}/app`],
  ["a=b; path=/x; PATH = /y ", "a=b; path=/x; PATH = /y ", `a=b; Path=${prefix}/y`],
  [
    "a=b; Path=/sandboxes/other/victim/80",
    "a=b; Path=/sandboxes/other/victim/80",
    `a=b; Path=${prefix}/sandboxes/other/victim/80`,
  ],
  ["a=b; Path=relative", "a=b; Path=relative", `a=b; Path=${prefix}`],
  ["a=b; Domain=team.localhost", "a=b", `a=b; Path=${prefix}`],
  ["a=b; domain=.localhost; Max-Age=1", "a=b; Max-Age=1", `a=b; Max-Age=1; Path=${prefix}`],
  ["a=b;\tDOMAIN\t=\tlocalhost", "a=b", `a=b; Path=${prefix}`],
  ["a=b; Domain", "a=b", `a=b; Path=${prefix}`],
  ["a=b; Domain=x; Domain=y", "a=b", `a=b; Path=${prefix}`],
  ["a=b; x=Domain=z", "a=b; x=Domain=z", `a=b; x=Domain=z; Path=${prefix}`],
  ["agent-sandbox-session=x", undefined, undefined],
  [" agent-sandbox-session = x; Path=/", undefined, undefined],
  ["\tAgent-Sandbox-SESSION\t=x", undefined, undefined],
  ["__Host-agent-sandbox-session=x; Secure; Path=/", undefined, undefined],
  ["=agent-sandbox-session=x", undefined, undefined],
  [" = agent-sandbox-session=x", undefined, undefined],
  ["==agent-sandbox-session=x", undefined, undefined],
  ["agent-sandbox-session", undefined, undefined],
  ["=agent-sandbox-session", undefined, undefined],
  ["agent-sandbox-session-2=x", "agent-sandbox-session-2=x", `agent-sandbox-session-2=x; Path=${prefix}`],
  ["other=agent-sandbox-session=x", "other=agent-sandbox-session=x", `other=agent-sandbox-session=x; Path=${prefix}`],
  ["__Host-app=x; Secure; Path=/", "__Host-app=x; Secure; Path=/", `__Host-app=x; Secure; Path=${prefix}`],
  ["", "", `; Path=${prefix}`],
])("a sandbox that sets the cookie %j", ([given, host, path]) => {
  expect([keptCookie(given), keptCookie(given, prefix)]).toEqual([host, path]);
});

const route = (by: Route["by"]): Route => ({
  by,
  namespace: "team",
  name: "box",
  port: 3000,
  uid: undefined,
  podIp: undefined,
  target: "/",
});
const csp = [
  "content-security-policy",
  "sandbox allow-downloads allow-forms allow-modals allow-popups allow-popups-to-escape-sandbox allow-scripts",
];
const unchanged = (name: string, value: string) => [[name, value], [], csp] as const;

test.for<[name: string, value: string, expected: readonly (readonly string[])[]]>([
  ["Alt-Svc", 'h3="evil.example:443"; ma=86400', [[], [], csp]],
  ["Set-Cookie2", "a=b; Domain=localhost", [[], [], csp]],
  ["Clear-Site-Data", '"cookies"', [[], [], csp]],
  ["Clear-Site-Data", '"cache", "cookies"', [["Clear-Site-Data", '"cache"'], [], csp]],
  ["Clear-Site-Data", '"*"', [["Clear-Site-Data", '"cache", "storage", "executionContexts"'], [], csp]],
  ["Clear-Site-Data", "cookies", [[], [], csp]],
  [
    "Strict-Transport-Security",
    "max-age=1; includeSubDomains",
    unchanged("Strict-Transport-Security", "max-age=1; includeSubDomains"),
  ],
  ["Service-Worker-Allowed", "/", unchanged("Service-Worker-Allowed", "/")],
  ["Access-Control-Allow-Origin", "*", unchanged("Access-Control-Allow-Origin", "*")],
  ["Access-Control-Allow-Credentials", "true", unchanged("Access-Control-Allow-Credentials", "true")],
  ["Timing-Allow-Origin", "*", unchanged("Timing-Allow-Origin", "*")],
  ["NEL", '{"report_to":"e","max_age":1}', unchanged("NEL", '{"report_to":"e","max_age":1}')],
  ["Report-To", "{}", unchanged("Report-To", "{}")],
  ["Reporting-Endpoints", 'e="https://evil.example"', unchanged("Reporting-Endpoints", 'e="https://evil.example"')],
  [
    "Content-Type",
    "text/html",
    [
      ["Content-Type", "text/html"],
      ["Content-Type", "text/html"],
      ["Content-Type", "text/html", ...csp],
    ],
  ],
])("a sandbox that answers %s: %s", ([name, value, expected]) => {
  const answers = (["host", "header", "path"] as const).map((by) =>
    responseHead([name, value], { route: route(by), epoch: undefined }),
  );
  expect(answers).toEqual(expected);
});

test("filters the headers of a 101 response too", () => {
  const raw = ["Connection", "Upgrade", "Upgrade", "websocket", "Set-Cookie", "a=b; Domain=localhost"];
  expect(responseHead(raw, { route: route("host"), epoch: undefined, isUpgrade: true })).toEqual([
    ...raw.slice(0, 5),
    "a=b",
  ]);
});

test("forwards headers with the names of object members", () => {
  const flat = ["constructor", "x", "toString", "y", "__proto__", "z", "__proto__", "z"];
  expect(Object.entries(forHttp2(flat))).toEqual([
    ["constructor", "x"],
    ["tostring", "y"],
    ["__proto__", ["z", "z"]],
  ]);
});
