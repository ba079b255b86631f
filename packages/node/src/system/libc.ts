import { getSystemErrorMessage } from "node:util";
import koffi from "koffi";

/** The few calls of the system that Node has no words for. Each returns at once: none waits for a disk or a process. */
export interface Libc {
  mount(source: string, target: string, options: MountOptions): void;
  /** At once: what is still open of it goes on without a place in the tree. */
  unmount(target: string): void;
  /** A character device with the number 0/0. */
  makeNullDevice(path: string): void;
  setAttribute(path: string, name: string, value: string): void;
  /** Connects to a socket of the machine that keeps messages apart. Returns its descriptor, which does not wait. */
  connectPackets(path: string): number;
  /** Sends one message. False when there is no room for it now. */
  sendPacket(descriptor: number, message: Uint8Array): boolean;
  closeSocket(descriptor: number): void;
  /** Locks an open file for this process alone, until it is closed. False when somebody else has locked it. */
  lockFile(descriptor: number): boolean;
}

export interface MountOptions {
  /** None for a bind mount. */
  readonly type?: string;
  readonly flags: number;
  /** What the filesystem itself is told. */
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
} as const;

/** Numbers of the kernel's, the same on all architectures this runs on. */
const sockets = {
  unix: 1,
  packets: 5,
  closeOnExec: 0o2000000,
  nonBlocking: 0o4000,
  noSignal: 0x4000,
  reading: 0,
} as const;
const tryAgain = 11;
/** For one holder, without waiting. */
const exclusiveLock = 2 | 4;

/** MNT_DETACH. */
const detach = 2;
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
  const umount = library.func("int umount2(const char *target, int flags)");
  const mknod = library.func("int mknod(const char *path, unsigned int mode, unsigned long device)");
  const setxattr = library.func(
    "int lsetxattr(const char *path, const char *name, const char *value, size_t size, int flags)",
  );
  const open = library.func("int socket(int domain, int type, int protocol)");
  const connect = library.func("int connect(int socket, const void *address, unsigned int length)");
  const shutdown = library.func("int shutdown(int socket, int how)");
  const send = library.func("long send(int socket, const void *message, size_t length, int flags)");
  const close = library.func("int close(int descriptor)");
  const flock = library.func("int flock(int descriptor, int operation)");
  return {
    connectPackets: (path) => {
      const descriptor = Number(open(sockets.unix, sockets.packets | sockets.closeOnExec | sockets.nonBlocking, 0));
      if (descriptor < 0) check(descriptor, "make a socket");
      try {
        const address = unixAddress(path);
        check(connect(descriptor, address, address.length), `connect to "${path}"`);
        // Whoever is there need not send us anything.
        check(shutdown(descriptor, sockets.reading), `close one way of "${path}"`);
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
    makeNullDevice: (path) => check(mknod(path, characterDevice, 0), `make a device at "${path}"`),
    setAttribute: (path, name, value) =>
      check(setxattr(path, name, value, Buffer.byteLength(value), 0), `set ${name} of "${path}"`),
  };
}

/** The family, then the path with a zero at its end, which has room for 107 bytes. */
function unixAddress(path: string): Buffer {
  const text = Buffer.from(`${path}\0`);
  if (text.length > 108) throw new Error(`Cannot connect to "${path}": its path is too long`);
  return Buffer.concat([Buffer.of(sockets.unix, 0), text]);
}

function check(result: unknown, what: string): void {
  if (result === 0) return;
  throw new Error(`Cannot ${what}: ${getSystemErrorMessage(-koffi.errno())}`);
}
