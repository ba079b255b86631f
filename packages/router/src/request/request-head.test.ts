import { describe, expect, test } from "vitest";
import { type RequestHead, readHead } from "./request-head.ts";

const read = (...raw: string[]): RequestHead => {
  const head = readHead(raw);
  if ("error" in head) throw new Error(head.error);
  return head;
};

describe("readHead()", () => {
  test("forwards headers for the sandbox unchanged", () => {
    const raw = ["Accept", "*/*", "X-Request-ID", "r1", "Cookie", "a=b; c=d", "X-Custom", "1", "X-Custom", "2"];
    expect(read("Host", "h", ...raw).pass).toEqual(raw);
  });

  test.for([
    "X-Sandbox-ID",
    "x-sandbox-token",
    "X-SANDBOX-Anything",
    "X-Sandbox-Epoch",
    "X_Sandbox_Epoch",
    "X_Sandbox_Token",
    "X-Sandbox_Token",
    "Authorization",
    "Proxy-Authorization",
    "Connection",
    "Keep-Alive",
    "Proxy-Connection",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
    "HTTP2-Settings",
    "Expect",
    "Forwarded",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-IP",
    ":path",
  ])("passes no %s on", (name) => {
    expect(read("Host", "h", name, "value").pass).toEqual([]);
  });

  test("drops the headers that Connection lists, in any case and in repeated headers", () => {
    const head = read("Connection", "close, X-One", "X-ONE", "1", "Connection", "x-two", "X-Two", "2", "X-Three", "3");
    expect(head.pass).toEqual(["X-Three", "3"]);
  });

  test("removes session cookies and forwards the others", () => {
    const head = read("Cookie", "a=1; agent-sandbox-session=s=1; b=2", "Cookie", "agent-sandbox-session=s2");
    expect(head.sessions).toEqual([
      { isHostOnly: false, value: "s=1" },
      { isHostOnly: false, value: "s2" },
    ]);
    expect(head.pass).toEqual(["Cookie", "a=1; b=2"]);
  });

  test.for([
    ["Host", "a", "Host", "a"],
    ["X-Sandbox-ID", "a", "X-Sandbox-ID", "b"],
    ["X-Sandbox-ID", "a", "x-sandbox-id", "b"],
    ["Authorization", "Bearer a", "Authorization", "Bearer b"],
    ["Content-Length", "1", "Content-Length", "2"],
    [":authority", "a", "host", "b"],
  ])("refuses %j", (raw) => {
    expect(readHead(raw)).toHaveProperty("error");
  });

  test.for<[string[], boolean]>([
    [[], false],
    [["Content-Length", "0"], false],
    [["Content-Length", "5"], true],
    [["Transfer-Encoding", "chunked"], true],
  ])("sees in %j whether there is a body: %s", ([raw, expected]) => {
    expect(read(...raw).hasBody).toBe(expected);
  });

  test("reads a hundred thousand headers in linear time", () => {
    const raw = Array.from({ length: 200_000 }, (_, index) => (index % 2 === 0 ? `x-${index}` : "1"));
    expect(readHead(raw)).toHaveProperty("pass.length", 200_000);
  });
});
