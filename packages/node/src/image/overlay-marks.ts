import { libc } from "../system/libc.ts";

/** Creates an overlayfs whiteout: hides a path in the layers below. */
export function hide(path: string): void {
  libc().makeNullDevice(path);
}

/** Marks a folder as opaque for overlayfs: hides its content in the layers below. */
export function hideContent(folder: string): void {
  libc().setAttribute(folder, "trusted.overlay.opaque", "y");
}
