import { createHash } from "node:crypto";
import { isSandboxError, type Sandbox } from "@agent-sandbox/sdk";
import type { ContentBlock } from "@modelcontextprotocol/server";
import { fileUri } from "./file-uri.ts";
import type { Image } from "./media.ts";

const folder = "/tmp/mcp-images";
const endings: Readonly<Record<string, string>> = { "image/png": "png", "image/jpeg": "jpg", "image/svg+xml": "svg" };

/** Saves images in the sandbox, because hosts refuse large answers, and returns links to them. */
export async function saveImages(
  sandbox: Sandbox,
  images: readonly Image[],
  signal: AbortSignal,
): Promise<{ readonly links: readonly ContentBlock[]; readonly notes: readonly string[] }> {
  const links: ContentBlock[] = [];
  const notes: string[] = [];
  for (const { mimeType, data } of images) {
    const bytes = Buffer.from(data, "base64");
    const name = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
    const path = `${folder}/${name}.${endings[mimeType] ?? "bin"}`;
    try {
      await sandbox.files.write(path, bytes, { signal });
      links.push({ type: "resource_link", uri: fileUri(sandbox, path), name: path, mimeType });
      notes.push(`an image of ${bytes.length} bytes is in ${path}`);
    } catch (error) {
      if (!isSandboxError(error)) throw error;
      notes.push(`an image of ${bytes.length} bytes is not shown: ${error.message}`);
    }
  }
  return { links, notes };
}
