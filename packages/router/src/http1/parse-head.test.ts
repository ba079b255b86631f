import { describe, expect, test } from "vitest";
import { mayBecomeRequest, mayBecomeResponse, parseRequestHead, parseResponseHead } from "./parse-head.ts";

const request = (...lines: string[]) => parseRequestHead(lines.map((line) => `${line}\r\n`).join(""));
const response = (...lines: string[]) => parseResponseHead(lines.map((line) => `${line}\r\n`).join(""));

describe("parseRequestHead()", () => {
  test("parses a request", () => {
    expect(request("GET /a?b=%00 HTTP/1.1", "Host: x", "X-Empty:", "x-two: \t a b \t", "X-Two:c")).toEqual({
      method: "GET",
      target: "/a?b=%00",
      minorVersion: 1,
      rawHeaders: ["Host", "x", "X-Empty", "", "x-two", "a b", "X-Two", "c"],
    });
    expect(request("OPTIONS * HTTP/1.0")).toMatchObject({ target: "*", minorVersion: 0, rawHeaders: [] });
    expect(request("GET / HTTP/1.1", "X: \xe9\xff")).toMatchObject({ rawHeaders: ["X", "\xe9\xff"] });
  });

  test.for<[string, string[]]>([
    ["no version", ["GET /"]],
    ["another version", ["GET / HTTP/2.0"]],
    ["another minor version", ["GET / HTTP/1.2"]],
    ["another protocol", ["GET / ICE/1.0"]],
    ["two spaces", ["GET  / HTTP/1.1"]],
    ["a tab for a space", ["GET\t/ HTTP/1.1"]],
    ["a space behind the version", ["GET / HTTP/1.1 "]],
    ["a space in the target", ["GET /a b HTTP/1.1"]],
    ["a control character in the target", ["GET /\x01 HTTP/1.1"]],
    ["a letter in the target that is none of ASCII", ["GET /\xe9 HTTP/1.1"]],
    ["no method", [" / HTTP/1.1"]],
    ["a method that nobody knows", ["HELLOGET / HTTP/1.1"]],
    ["a method in small letters", ["get / HTTP/1.1"]],
    ["a method that is no token", ["GE(T / HTTP/1.1"]],
    ["a space before the colon", ["GET / HTTP/1.1", "Host : x"]],
    ["a folded header", ["GET / HTTP/1.1", "X: a", " b"]],
    ["a folded header that has a colon", ["GET / HTTP/1.1", "X: a", " Content-Length: 1"]],
    ["a header without a name", ["GET / HTTP/1.1", ": x"]],
    ["a header without a colon", ["GET / HTTP/1.1", "Host"]],
    ["an empty line in the midst", ["GET / HTTP/1.1", "", "Host: x"]],
    ["a bare LF", ["GET / HTTP/1.1", "X: a\nY: b"]],
    ["a bare CR", ["GET / HTTP/1.1", "X: a\rY: b"]],
    ["a NUL", ["GET / HTTP/1.1", "X: a\0"]],
    ["a vertical tab", ["GET / HTTP/1.1", "X:\x0bchunked"]],
    ["a DEL", ["GET / HTTP/1.1", "X: \x7f"]],
    ["a name with a letter that is none of ASCII", ["GET / HTTP/1.1", "\xe9: x"]],
  ])("refuses %s", ([, lines]) => {
    expect(request(...lines)).toEqual({ error: "malformed" });
  });

  test("parses a value of spaces in linear time, also if it is refused", () => {
    expect(request("GET / HTTP/1.1", `X:${" ".repeat(200_000)}\x7f`)).toEqual({ error: "malformed" });
    expect(request("GET / HTTP/1.1", `X:${" ".repeat(200_000)}`)).toMatchObject({ rawHeaders: ["X", ""] });
  });

  test("refuses too many headers", () => {
    expect(request("GET / HTTP/1.1", ...Array.from({ length: 5001 }, () => "a:b"))).toEqual({ error: "many" });
  });
});

describe("parseResponseHead()", () => {
  test("parses a response", () => {
    expect(response("HTTP/1.1 203 Sort Of", "A: b")).toEqual({
      status: 203,
      message: "Sort Of",
      minorVersion: 1,
      rawHeaders: ["A", "b"],
    });
    expect(response("HTTP/1.0 200")).toMatchObject({ status: 200, message: "", minorVersion: 0 });
  });

  test.for([["220 smtp ready"], ["HTTP/2 200"], ["HTTP/1.1 20"], ["HTTP/1.1 2000 OK"], ["HTTP/1.1 099 No"], [""]])(
    "refuses %j",
    (lines) => {
      expect(response(...lines)).toEqual({ error: "malformed" });
    },
  );
});

test.for<[string, boolean]>([
  ["G", true],
  ["GET", true],
  ["GET /abc", true],
  ["GET / HTTP/1.", true],
  ["GET / HTTP/1.1\r", true],
  ["GET / HTTP/1.1\r\nHos", true],
  ["\x16\x03\x01", false],
  [" GET", false],
  ["SSH-2.0-OpenSSH\r\n", false],
  ["GET / SMTP", false],
])("%j may become a request: %s", ([text, expected]) => {
  expect(mayBecomeRequest(text)).toBe(expected);
});

test.for<[string, boolean]>([
  ["HTT", true],
  ["HTTP/1.1 2", true],
  ["220 smtp", false],
  ["<html>", false],
])("%j may become an answer: %s", ([text, expected]) => {
  expect(mayBecomeResponse(text)).toBe(expected);
});
