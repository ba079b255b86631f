import koffi, { type LibraryHandle } from "koffi";
import { checkCall, lazyLibc } from "./native-call.ts";

/** System calls that Node does not offer. None of them blocks. */
export interface Libc {
  mount(source: string, target: string, options: MountOptions): void;
  /** Detaches the mount (MNT_DETACH). Files that are open stay usable. */
  unmount(target: string): void;
  /** Creates a character device with the number 0/0, overlayfs' whiteout. */
  makeNullDevice(path: string): void;
  setAttribute(path: string, name: string, value: string): void;
  /** Whether a file, which may be a symbolic link, has an extended attribute. */
  hasAttribute(path: string, name: string): boolean;
  /** Connects to a Unix socket of type SOCK_SEQPACKET. Returns a non-blocking descriptor. */
  connectPackets(path: string): number;
  /** Sends one message. Returns false when the socket's buffer is full. */
  sendPacket(descriptor: number, message: Uint8Array): boolean;
  closeSocket(descriptor: number): void;
  /** Takes an exclusive lock on an open file until it is closed. Returns false when another process holds it. */
  lockFile(descriptor: number): boolean;
}

export interface MountOptions {
  /** Absent for a bind mount. */
  readonly type?: string;
  readonly flags: number;
  /** The filesystem's own options. */
  readonly data?: string;
}

export const mountFlags = {
  readOnly: 1,
  noSetuid: 2,
  noDevices: 4,
  remount: 32,
  bind: 4096,
  recursive: 16_384,
  private: 262_144,
  shared: 1_048_576,
} as const;

/** Constants of the kernel, the same on all supported architectures. */
const sockets = {
  unix: 1,
  packets: 5,
  closeOnExec: 0o2000000,
  nonBlocking: 0o4000,
  noSignal: 0x4000,
  reading: 0,
} as const;
const tryAgain = 11;
/** LOCK_EX | LOCK_NB. */
const exclusiveLock = 2 | 4;

/** MNT_DETACH. */
const detach = 2;
const characterDevice = 0o020_000;

export const libc: () => Libc = lazyLibc(declare);

function declare(library: LibraryHandle): Libc {
  const mount = library.func(
    "int mount(const char *source, const char *target, const char *type, unsigned long flags, const char *data)",
  );
  const umount = library.func("int umount2(const char *target, int flags)");
  const mknod = library.func("int mknod(const char *path, unsigned int mode, unsigned long device)");
  const setxattr = library.func(
    "int lsetxattr(const char *path, const char *name, const char *value, size_t size, int flags)",
  );
  const getxattr = library.func("long lgetxattr(const char *path, const char *name, void *value, size_t size)");
  const open = library.func("int socket(int domain, int type, int protocol)");
  const connect = library.func("int connect(int socket, const void *address, unsigned int length)");
  const shutdown = library.func("int shutdown(int socket, int how)");
  const send = library.func("long send(int socket, const void *message, size_t length, int flags)");
  const close = library.func("int close(int descriptor)");
  const flock = library.func("int flock(int descriptor, int operation)");
  return {
    connectPackets: (path) => {
      const type = sockets.packets | sockets.closeOnExec | sockets.nonBlocking;
      const descriptor = checkCall(open(sockets.unix, type, 0), "create a socket");
      try {
        const address = unixAddress(path);
        check(connect(descriptor, address, address.length), `connect to "${path}"`);
        // Write-only: nothing is read from this socket.
        check(shutdown(descriptor, sockets.reading), `shut down reading from "${path}"`);
        return descriptor;
      } catch (error) {
        close(descriptor);
        throw error;
      }
    },
    sendPacket: (descriptor, message) => {
      const sent = Number(send(descriptor, message, message.length, sockets.noSignal));
      if (sent < 0 && koffi.errno() === tryAgain) return false;
      if (sent < 0) check(sent, "send to a socket");
      return true;
    },
    lockFile: (descriptor) => {
      const result = Number(flock(descriptor, exclusiveLock));
      if (result !== 0 && koffi.errno() !== tryAgain) check(result, "lock a file");
      return result === 0;
    },
    closeSocket: (descriptor) => check(close(descriptor), "close a socket"),
    mount: (source, target, { type, flags, data }) =>
      check(mount(source, target, type ?? null, flags, data ?? null), `mount "${source}" at "${target}"`),
    unmount: (target) => check(umount(target, detach), `unmount "${target}"`),
    makeNullDevice: (path) => check(mknod(path, characterDevice, 0), `create a device at "${path}"`),
    setAttribute: (path, name, value) =>
      check(setxattr(path, name, value, Buffer.byteLength(value), 0), `set ${name} of "${path}"`),
    hasAttribute: (path, name) => Number(getxattr(path, name, null, 0)) >= 0,
  };
}

/** `struct sockaddr_un`: the family, then the path of up to 107 bytes and a zero. */
function unixAddress(path: string): Buffer {
  const text = Buffer.from(`${path}\0`);
  if (text.length > 108) throw new Error(`Cannot connect to "${path}": its path is too long`);
  return Buffer.concat([Buffer.of(sockets.unix, 0), text]);
}

function check(result: unknown, action: string): void {
  checkCall(result, action);
}
