import type { ExtractEvents, Header } from "tar-stream";

/** One entry of an archive: its header and a stream of its content. */
export type TarEntry = ExtractEvents["entry"][1];

/** One validated entry of a layer's archive. */
export type LayerEntry =
  | { readonly kind: "folder"; readonly path: string }
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "symlink"; readonly path: string; readonly target: string }
  | { readonly kind: "hardlink"; readonly path: string; readonly target: string }
  /** Hides the path in the layers below. */
  | { readonly kind: "whiteout"; readonly path: string }
  /** Hides the content of the folder in the layers below. */
  | { readonly kind: "opaque"; readonly path: string };

const whiteoutPrefix = ".wh.";
const opaqueName = ".wh..wh..opq";
const longestPath = 4096;
const longestName = 255;

/** Returns the entry, or why the archive is refused. Paths are relative to the layer's root, which is "". */
export function readEntry(header: Header): { entry: LayerEntry } | { error: string } {
  const path = insidePath(header.name);
  if (path === undefined) return refuse(header, "its path leads outside the image");
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (name.startsWith(whiteoutPrefix)) return readWhiteout(header, path, name);
  switch (header.type) {
    case "directory":
      return { entry: { kind: "folder", path } };
    case "file":
    case "contiguous-file":
      return path === "" ? refuse(header, "the root must be a directory") : { entry: { kind: "file", path } };
    case "symlink":
      return isTarget(header.linkname)
        ? { entry: { kind: "symlink", path, target: header.linkname } }
        : refuse(header, "its link target is invalid");
    case "link": {
      const target = insidePath(header.linkname ?? "");
      return target === undefined || target === ""
        ? refuse(header, `it links to "${header.linkname}", which is not in the image`)
        : { entry: { kind: "hardlink", path, target } };
    }
    default:
      return refuse(header, `images may not contain entries of type "${header.type ?? ""}"`);
  }
}

function readWhiteout(header: Header, path: string, name: string): { entry: LayerEntry } | { error: string } {
  const folder = path.slice(0, Math.max(0, path.length - name.length - 1));
  if (name === opaqueName) return { entry: { kind: "opaque", path: folder } };
  const hidden = name.slice(whiteoutPrefix.length);
  if (hidden === "" || hidden === "." || hidden === ".." || hidden.startsWith(whiteoutPrefix)) {
    return refuse(header, "the whiteout has an invalid name");
  }
  return { entry: { kind: "whiteout", path: folder === "" ? hidden : `${folder}/${hidden}` } };
}

/** The path without a leading "./" and a trailing "/". Undefined if it is absolute, contains "..", or is too long. */
function insidePath(path: string): string | undefined {
  if (path.startsWith("/") || path.includes("\0") || path.length > longestPath) return undefined;
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  return parts.some((part) => part === ".." || Buffer.byteLength(part) > longestName) ? undefined : parts.join("/");
}

/** Symbolic links are followed inside the container only and cannot leave its root, so any target is allowed. */
function isTarget(target: string | null | undefined): target is string {
  return typeof target === "string" && target !== "" && target.length < longestPath && !target.includes("\0");
}

function refuse({ name }: Header, why: string): { error: string } {
  return { error: `invalid entry "${name.slice(0, 200)}": ${why}` };
}
