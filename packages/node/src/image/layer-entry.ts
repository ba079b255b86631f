import type { ExtractEvents, Header } from "tar-stream";

/** One entry of an archive as it is read: what it says of itself, and its content. */
export type TarEntry = ExtractEvents["entry"][1];

/** What one entry of a layer's archive asks for, once its name has been found harmless. */
export type LayerEntry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "hardlink"; readonly path: string; readonly target: string }
  /** The name is gone from the layers below. */
  | { readonly kind: "whiteout"; readonly path: string }
  /** Nothing of this folder in the layers below is to be seen. */
  | { readonly kind: "opaque"; readonly path: string };

const whiteoutPrefix = ".wh.";
const opaqueName = ".wh..wh..opq";
const longestPath = 4096;
const longestName = 255;

/** The entry, or why the archive that has it is refused. Paths are relative to the layer; its root is "". */
export function readEntry(header: Header): { entry: LayerEntry } | { error: string } {
  const path = insidePath(header.name);
  if (path === undefined) return refuse(header, "its path leads out of the image");
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(whiteoutPrefix)) return readWhiteout(header, path, name);
  switch (header.type) {
    case "directory":
      return { entry: { kind: "folder", path } };
    case "file":
    case "contiguous-file":
      return path === "" ? refuse(header, "the root is no file") : { entry: { kind: "file", path } };
    case "symlink":
      return isTarget(header.linkname)
        ? { entry: { kind: "symlink", path, target: header.linkname } }
        : refuse(header, "it links to nothing");
    case "link": {
      const target = insidePath(header.linkname ?? "");
      return target === undefined || target === ""
        ? refuse(header, `it links to "${header.linkname}", which is not in the image`)
        : { entry: { kind: "hardlink", path, target } };
    }
    default:
      return refuse(header, `it is a ${header.type ?? "thing without a type"}, which images may not bring`);
  }
}

function readWhiteout(header: Header, path: string, name: string): { entry: LayerEntry } | { error: string } {
  const folder = path.slice(0, Math.max(0, path.length - name.length - 1));
  if (name === opaqueName) return { entry: { kind: "opaque", path: folder } };
  const hidden = name.slice(whiteoutPrefix.length);
  if (hidden === "" || hidden === "." || hidden === ".." || hidden.startsWith(whiteoutPrefix)) {
    return refuse(header, "it hides nothing that can be named");
  }
  return { entry: { kind: "whiteout", path: folder === "" ? hidden : `${folder}/${hidden}` } };
}

/** Without "./" in front and "/" behind; undefined for what is absolute, climbs, or is too long to be a path. */
function insidePath(path: string): string | undefined {
  if (path.startsWith("/") || path.includes("\0") || path.length > longestPath) return undefined;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.some((part) => part === ".." || Buffer.byteLength(part) > longestName) ? undefined : parts.join("/");
}

/** A link is followed inside the container, whose root it cannot leave: where it points to is its own affair. */
function isTarget(target: string | null | undefined): target is string {
  return typeof target === "string" && target !== "" && target.length < longestPath && !target.includes("\0");
}

function refuse({ name }: Header, why: string): { error: string } {
  return { error: `the archive has "${name.slice(0, 200)}": ${why}` };
}
