import { getSystemErrorMessage } from "node:util";
import koffi from "koffi";

/** The few calls of the system that Node has no words for. Each returns at once: none waits for a disk or a process. */
export interface Libc {
  mount(source: string, target: string, options: MountOptions): void;
  /** A character device with the number 0/0. */
  makeNullDevice(path: string): void;
  setAttribute(path: string, name: string, value: string): void;
}

export interface MountOptions {
  /** None for a bind mount. */
  readonly type?: string;
  readonly flags: number;
  /** What the filesystem itself is told. */
  readonly data?: string;
}

export const mountFlags = { readOnly: 1, noSetuid: 2, noDevices: 4, remount: 32, bind: 4096 } as const;

const characterDevice = 0o020_000;
let loaded: Libc | undefined;

/** Loaded with the first call. */
export function libc(): Libc {
  loaded ??= load();
  return loaded;
}

function load(): Libc {
  const library = koffi.load("libc.so.6");
  const mount = library.func(
    "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
  );
  const mknod = library.func("int mknod(const char *path, unsigned int mode, unsigned long device)");
  const setxattr = library.func(
    "int lsetxattr(const char *path, const char *name, const char *value, size_t size, int flags)",
  );
  return {
    mount: (source, target, { type, flags, data }) =>
      check(mount(source, target, type ?? null, flags, data ?? null), `mount "${source}" at "${target}"`),
    makeNullDevice: (path) => check(mknod(path, characterDevice, 0), `make a device at "${path}"`),
    setAttribute: (path, name, value) =>
      check(setxattr(path, name, value, Buffer.byteLength(value), 0), `set ${name} of "${path}"`),
  };
}

function check(result: unknown, what: string): void {
  if (result === 0) return;
  throw new Error(`Cannot ${what}: ${getSystemErrorMessage(-koffi.errno())}`);
}
