import koffi from "koffi";
import { NodeError } from "../errors.ts";

/** How overlayfs is told that something of the layers below is not to be seen. Node has no words for either. */
interface OverlayMarks {
  /** A character device with the number 0/0: the name is gone. */
  hide(path: string): void;
  /** An attribute of a folder: it begins empty. */
  hideContent(folder: string): void;
}

const characterDevice = 0o020_000;
const opaqueAttribute = "trusted.overlay.opaque";

/** The library is loaded when the first layer needs it. */
let marks: OverlayMarks | undefined;

export function overlayMarks(): OverlayMarks {
  marks ??= loadMarks();
  return marks;
}

function loadMarks(): OverlayMarks {
  const library = koffi.load("libc.so.6");
  const mknod = library.func("int mknod(const char *path, unsigned int mode, unsigned long device)");
  const setxattr = library.func(
    "int lsetxattr(const char *path, const char *name, const char *value, size_t size, int flags)",
  );
  const check = (result: number, what: string): void => {
    if (result !== 0) throw new NodeError("ErrImagePull", `Cannot ${what}: error ${koffi.errno()}`);
  };
  return {
    hide: (path) => check(mknod(path, characterDevice, 0) as number, `hide "${path}"`),
    hideContent: (folder) =>
      check(setxattr(folder, opaqueAttribute, "y", 1, 0) as number, `hide what is below "${folder}"`),
  };
}
