import { archiveFormat, type Manifest } from "./archive-format.ts";
import { type MemberSource, measureMembers } from "./archive-stream.ts";

/** Members with these contents. */
export function sources(contents: Readonly<Record<string, Uint8Array>>): MemberSource[] {
  return Object.entries(contents).map(([name, content]) => ({
    name,
    open: async function* () {
      yield content;
    },
  }));
}

/** A valid manifest for members of depth Filesystem with one container. */
export async function manifestOf(members: readonly MemberSource[], more: Partial<Manifest> = {}): Promise<Manifest> {
  const measured = await measureMembers(members);
  return {
    format: archiveFormat,
    version: 1,
    snapshot: {
      name: "before",
      namespace: "default",
      sandbox: "web",
      depth: "Filesystem",
      epoch: 2,
      runtime: { name: "gvisor", version: "release-1" },
      containers: [{ name: "main", reference: "host", image: "sha256:aa" }],
      pauseMs: 12,
      createdAt: 1_700_000_000_000,
      memoryVolumes: [],
    },
    omitted: 0,
    members: measured,
    totalBytes: measured.reduce((sum, { bytes }) => sum + bytes, 0),
    ...more,
  };
}
