import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Sandbox } from "@agent-sandbox/api";
import { afterAll, expect, test } from "vitest";
import { browserProgram } from "../client/open-browser.ts";
import { routerPodIn } from "../client/router-address.ts";
import { checkLink, declaredPort, parsePort } from "./open.ts";

test.for(["0", "65536", "-1", "http", "", "80 ", "1e3"])("%j is not a port", (text) => {
  expect(() => parsePort(text)).toThrow(`Cannot read port "${text}"`);
});

test("the default port is the first TCP port that is declared", () => {
  const sandbox = (...ports: object[]): Sandbox =>
    ({
      metadata: { name: "web" },
      spec: { podTemplate: { spec: { containers: [{ name: "a" }, { name: "b", ports }] } } },
    }) as Sandbox;
  expect(declaredPort(sandbox({ containerPort: 53, protocol: "UDP" }, { containerPort: 8000 }))).toBe(8000);
  expect(() => declaredPort(sandbox())).toThrow("agent-sandbox open web 8000");
});

test.for([
  ["http://8000-web.default.localhost:7680/x?code=1", "http://127.0.0.1:7680"],
  ["https://8000-web.default.example.com/x", "https://router.example.com"],
] as const)("the link %s of the router %s is opened", ([link, router]) => {
  expect(checkLink(link, router)).toBe(link);
});

test.for([
  ["file:///etc/passwd", "http://127.0.0.1:1", "invalid link"],
  ["javascript:alert(1)", "http://127.0.0.1:1", "invalid link"],
  ["--help", "http://127.0.0.1:1", "invalid link"],
  ["http://8000-web.default.example.com:1/x", "http://127.0.0.1:1", "name its own address with --router"],
  ["http://8000-web.default.evillocalhost:1/x", "http://127.0.0.1:1", "name its own address with --router"],
] as const)("the link %s of the router %s is refused", ([link, router, expected]) => {
  expect(() => checkLink(link, router)).toThrow(expected);
});

const folder = mkdtempSync(join(tmpdir(), "open-"));
afterAll(() => rmSync(folder, { recursive: true }));

test("a browser is opened only with a display and xdg-open", () => {
  const program = join(folder, "bin/xdg-open");
  mkdirSync(join(folder, "bin"));
  writeFileSync(program, "");
  const PATH = `/none:${join(folder, "bin")}`;
  expect(browserProgram({ PATH, DISPLAY: ":0" })).toBe(undefined);
  chmodSync(program, 0o755);
  expect(browserProgram({ PATH, DISPLAY: ":0" })).toBe(program);
  expect(browserProgram({ PATH, WAYLAND_DISPLAY: "wayland-0" })).toBe(program);
  expect(browserProgram({ PATH })).toBe(undefined);
  expect(browserProgram({ PATH: "/none", DISPLAY: ":0" })).toBe(undefined);
});

test("the router's Pod is the first that is ready", () => {
  const endpoint = (name: string, ready?: boolean): object => ({
    targetRef: { kind: "Pod", name },
    ...(ready !== undefined && { conditions: { ready } }),
  });
  const slice = (...endpoints: object[]): object => ({ ports: [{ port: 8080 }], endpoints });
  const found = (...items: object[]): unknown => routerPodIn({ items });
  expect(found(slice(), slice(endpoint("a", false), endpoint("b", true)))).toEqual({ pod: "b", port: 8080 });
  expect(found(slice(endpoint("a")))).toEqual({ pod: "a", port: 8080 });
  expect(found({ ports: null, endpoints: null }, slice({ targetRef: { kind: "Node", name: "n" } }))).toBe(undefined);
});
