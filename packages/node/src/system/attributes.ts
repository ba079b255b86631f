import type { LibraryHandle } from "koffi";
import { checkCall, lazyLibc } from "./native-call.ts";

/** Extended attributes of files. Nobody else may change the file at the same time. */
export interface AttributeCalls {
  /** The names of a file, which may be a symbolic link. Names that are not UTF-8 contain U+FFFD. */
  list(path: string): string[];
  read(path: string, name: string): Buffer;
  /** Sets an attribute of an open file or folder. */
  set(descriptor: number, name: string, value: Uint8Array): void;
}

export const attributeCalls: () => AttributeCalls = lazyLibc(declare);

function declare(library: LibraryHandle): AttributeCalls {
  const list = library.func("long llistxattr(const char *path, _Out_ uint8_t *names, size_t size)");
  const read = library.func("long lgetxattr(const char *path, const char *name, _Out_ uint8_t *value, size_t size)");
  const set = library.func(
    "int fsetxattr(int descriptor, const char *name, const uint8_t *value, size_t size, int flags)",
  );
  const sized = (action: string, call: (buffer: Buffer | null, size: number) => unknown): Buffer => {
    const size = checkCall(call(null, 0), action);
    const buffer = Buffer.alloc(size);
    return size === 0 ? buffer : buffer.subarray(0, checkCall(call(buffer, size), action));
  };
  return {
    list: (path) => {
      const names = sized(`list the attributes of "${path}"`, (buffer, size) => list(path, buffer, size));
      return names
        .toString("utf8")
        .split("\0")
        .filter((name) => name !== "");
    },
    read: (path, name) =>
      sized(`read the attribute "${name}" of "${path}"`, (buffer, size) => read(path, name, buffer, size)),
    set: (descriptor, name, value) => {
      checkCall(set(descriptor, name, value, value.length, 0), `set the attribute "${name}"`);
    },
  };
}
