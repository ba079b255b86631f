import { libc } from "../system/libc.ts";

/** Tells overlayfs that a name is gone from the layers below. */
export function hide(path: string): void {
  libc().makeNullDevice(path);
}

/** Tells overlayfs that nothing of a folder in the layers below is to be seen. */
export function hideContent(folder: string): void {
  libc().setAttribute(folder, "trusted.overlay.opaque", "y");
}
