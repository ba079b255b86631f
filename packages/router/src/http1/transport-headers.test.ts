import { describe, expect, test } from "vitest";
import { readTransportHeaders } from "./transport-headers.ts";

describe("readTransportHeaders()", () => {
  test("reads the transport headers", () => {
    const raw = ["CONNECTION", "Upgrade, x-a", "connection", "Close", "Upgrade", "websocket", "Content-Length", "007"];
    expect(readTransportHeaders([...raw, "Expect", "100-continue", "Keep-Alive", "max=5, timeout=30"])).toEqual({
      length: 7,
      isChunked: false,
      connection: ["upgrade", "x-a", "close"],
      upgrade: "websocket",
      expect: "100-continue",
      keepAliveSeconds: 30,
    });
    expect(readTransportHeaders(["transfer-encoding", "Chunked"])).toMatchObject({
      isChunked: true,
      length: undefined,
    });
    expect(readTransportHeaders([])).toMatchObject({ isChunked: false, length: undefined, connection: [] });
  });

  test.for([
    ["content-length", "1", "content-length", "1"],
    ["content-length", "1", "Content-Length", "2"],
    ["content-length", "0", "transfer-encoding", "chunked"],
    ["transfer-encoding", "chunked", "content-length", "0"],
    ["transfer-encoding", "chunked", "transfer-encoding", "chunked"],
    ["transfer-encoding", "chunked", "transfer-encoding", "identity"],
    ["transfer-encoding", "gzip, chunked"],
    ["transfer-encoding", "chunked, identity"],
    ["transfer-encoding", "chunked "],
    ["transfer-encoding", "xchunked"],
    ["transfer-encoding", "identity"],
    ["transfer-encoding", ""],
    ["content-length", ""],
    ["content-length", "+1"],
    ["content-length", "-1"],
    ["content-length", "0x1"],
    ["content-length", "1, 1"],
    ["content-length", "1 1"],
    ["content-length", "1e3"],
    ["content-length", "1.0"],
    ["content-length", "\xb2"],
    ["content-length", "9999999999999999"],
  ])("does not guess where %j ends", (raw) => {
    expect(readTransportHeaders(raw)).toHaveProperty("error");
  });
});
