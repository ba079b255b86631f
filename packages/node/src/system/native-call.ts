import { getSystemErrorMessage, getSystemErrorName } from "node:util";
import koffi, { type LibraryHandle } from "koffi";

/** A function that declares native functions of libc when it is first called, and returns the same ones after that. */
export function lazyLibc<T>(declare: (library: LibraryHandle) => T): () => T {
  let declared: T | undefined;
  return () => (declared ??= declare(koffi.load("libc.so.6")));
}

/**
 * Returns the result of a native call. Throws `Cannot <action>: <system error>` if it is negative. The `code` of the error is the
 * name of the system error, such as `ENOENT`.
 */
export function checkCall(result: unknown, action: string): number {
  if (Number(result) >= 0) return Number(result);
  const errno = -koffi.errno();
  const error = new Error(`Cannot ${action}: ${getSystemErrorMessage(errno)}`);
  throw Object.assign(error, { code: getSystemErrorName(errno) });
}
