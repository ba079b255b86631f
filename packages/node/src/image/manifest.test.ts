import { describe, expect, test } from "vitest";
import { mostLayers, parseImageDescription, parseManifest } from "./manifest.ts";

const hex = "0123456789abcdef".repeat(4);
const blob = { digest: `sha256:${hex}`, size: 10 };
const limits = { imageBytes: 1000 };

describe("parseManifest()", () => {
  test("returns the configuration and the layers", () => {
    expect(parseManifest(JSON.stringify({ config: blob, layers: [blob, blob] }), limits)).toEqual({
      config: { digest: hex, sizeBytes: 10 },
      layers: [
        { digest: hex, sizeBytes: 10 },
        { digest: hex, sizeBytes: 10 },
      ],
    });
  });

  test.for([
    ["text that is not JSON", "{", "not valid JSON"],
    ["a list", "[]", "not a JSON object"],
    ["no layers", JSON.stringify({ config: blob, layers: [] }), "no layers"],
    [
      "a path for a digest",
      JSON.stringify({ config: blob, layers: [{ digest: "sha256:../../x", size: 1 }] }),
      "digits",
    ],
    ["another hash", JSON.stringify({ config: { digest: `md5:${hex}`, size: 1 }, layers: [blob] }), "digits"],
    ["a negative size", JSON.stringify({ config: blob, layers: [{ ...blob, size: -1 }] }), "size"],
    ["more bytes than allowed", JSON.stringify({ config: blob, layers: [{ ...blob, size: 1001 }] }), "limit of 1000"],
    [
      "more layers than the limit",
      JSON.stringify({ config: blob, layers: Array.from({ length: mostLayers + 1 }, () => blob) }),
      "limit",
    ],
  ] as const)("refuses %s", ([, text, expected]) => {
    expect(() => parseManifest(text, limits)).toThrow(expected);
  });
});

describe("parseImageDescription()", () => {
  test("a configuration without optional fields", () => {
    expect(parseImageDescription(JSON.stringify({ rootfs: { diff_ids: [blob.digest] } }))).toEqual({
      architecture: "",
      diffIds: [hex],
      entrypoint: [],
      command: [],
      environment: [],
      user: "",
      workingDir: "",
      stopSignal: "",
    });
  });

  test("a configuration with all fields", () => {
    const config = {
      Entrypoint: ["/run"],
      Cmd: ["-v"],
      Env: ["A=1"],
      User: "app:staff",
      WorkingDir: "/srv",
      StopSignal: "SIGINT",
    };
    expect(
      parseImageDescription(JSON.stringify({ architecture: "amd64", rootfs: { diff_ids: [blob.digest] }, config })),
    ).toEqual({
      architecture: "amd64",
      diffIds: [hex],
      entrypoint: ["/run"],
      command: ["-v"],
      environment: ["A=1"],
      user: "app:staff",
      workingDir: "/srv",
      stopSignal: "SIGINT",
    });
  });

  test.for([
    ["a command that is not a list", { Cmd: "sh" }],
    ["an argument that is not a string", { Cmd: [1] }],
    ["a text with NUL", { User: "a\0b" }],
  ] as const)("refuses %s", ([, config]) => {
    expect(() => parseImageDescription(JSON.stringify({ rootfs: { diff_ids: [blob.digest] }, config }))).toThrow(
      "Cannot use the image's configuration",
    );
  });
});
