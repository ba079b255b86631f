import type { FileInfo } from "@agent-sandbox/sdk";
import { describe, expect, test } from "vitest";
import { mostImageBytes, mostTextBytes, readPreview } from "./read-preview.ts";

const info = (over: Partial<FileInfo>): FileInfo => ({
  path: "/f",
  name: "f",
  size: 0,
  type: "file",
  mode: "0644",
  modifiedAt: new Date(0),
  uid: 0,
  gid: 0,
  etag: '"1"',
  ...over,
});

/** A sandbox that sends a content, whatever range it was asked for. */
function sandbox(content: Uint8Array | string, over: Partial<FileInfo> = {}) {
  const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
  const chunk = 100_000;
  let sent = 0;
  async function* readStream() {
    for (let at = 0; at < bytes.length; at += chunk) {
      sent += chunk;
      yield bytes.subarray(at, at + chunk);
    }
  }
  return { files: { stat: async () => info({ size: bytes.length, ...over }), readStream }, sent: () => sent };
}

function png(width: number, height: number): Uint8Array {
  const bytes = new Uint8Array(64);
  bytes.set([0x89, 0x50, 0x4e, 0x47, 13, 10, 26, 10, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  const view = new DataView(bytes.buffer);
  view.setUint32(16, width);
  view.setUint32(20, height);
  return bytes;
}

const { signal } = new AbortController();
const read = (content: Uint8Array | string, over?: Partial<FileInfo>) =>
  readPreview(sandbox(content, over).files, "f", signal);

describe("the preview", () => {
  test("of a text is the text", async () => {
    expect(await read("a\nb")).toMatchObject({ kind: "text", isCut: false, content: { text: "a\nb" } });
    expect(await read("")).toMatchObject({ kind: "text", isCut: false, content: { text: "" } });
  });

  test("of an SVG and of a page is their source", async () => {
    for (const source of ["<svg onload='alert(1)'/>", "<!doctype html><script>alert(1)</script>"]) {
      expect(await read(source)).toMatchObject({ kind: "text", content: { text: source } });
    }
  });

  test("of a large text is its beginning, also if the sandbox sends more", async () => {
    const { files, sent } = sandbox("x".repeat(mostTextBytes * 4));
    const preview = await readPreview(files, "f", signal);
    expect(preview).toMatchObject({ kind: "text", isCut: true });
    expect(preview.kind === "text" && preview.content.text.length).toBe(mostTextBytes);
    expect(sent()).toBeLessThan(mostTextBytes * 2);
  });

  test("of an image has the type that its bytes say", async () => {
    const preview = await read(png(30, 20), { name: "page.html" });
    expect(preview).toMatchObject({ kind: "image", size: "30 × 20 pixels" });
    expect(preview.kind === "image" && preview.image.type).toBe("image/png");
  });

  test.for([
    ["has too many pixels", png(60_000, 60_000), {}, "megapixels"],
    ["is too large", png(1, 1), { size: mostImageBytes + 1 }, "16.0 MiB"],
  ] as const)("does not show an image that %s", async ([, bytes, over, why]) => {
    expect(await read(bytes, over)).toMatchObject({ kind: "none", why: expect.stringContaining(why) });
  });

  test("does not read devices and folders, and shows no binary files", async () => {
    expect(await read("x", { type: "other" })).toMatchObject({ kind: "none" });
    expect(await read(Uint8Array.of(0, 1, 2))).toMatchObject({ kind: "none" });
  });
});
