import { createHash } from "node:crypto";
import { closeSync, constants, openSync } from "node:fs";
import { getSystemErrorMessage } from "node:util";
import koffi from "koffi";
import { lazyLibc } from "./native-call.ts";

/** Constants and structures of `linux/fs.h` and `linux/quota.h`, the same on all supported architectures. */
const getAttributes = 0x801c581f;
const setAttributes = 0x401c5820;
const attributesBytes = 28;
const [flagsAt, projectAt] = [0, 12];
const inheritsProject = 0x200;
const quotactlFd = 443;
/** Q_SETQUOTA for projects. */
const setProjectQuota = (0x800008 << 8) | 2;
const quotaBytes = 72;
const [hardLimitAt, validAt] = [0, 64];
const limitsAreValid = 1;
const unsupported: readonly number[] = [3, 19, 22, 25, 38, 95];

/** The system calls, replaceable in tests. Each returns 0 or an errno. */
export interface QuotaCalls {
  quota(descriptor: number, command: number, project: number, block: Buffer): number;
  control(descriptor: number, request: number, attributes: Buffer): number;
}

/**
 * Limits the size of a folder with a project quota. It applies to everything created in the folder from now on. Returns false
 * and changes nothing if the filesystem does not support project quotas or they are off.
 */
export function limitFolder(path: string, bytes: number, calls: QuotaCalls = kernel()): boolean {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const project = projectOf(path);
    const failure = calls.quota(descriptor, setProjectQuota, project, quotaBlock(bytes));
    if (unsupported.includes(failure)) return false;
    check(failure, path);
    const attributes = Buffer.alloc(attributesBytes);
    check(calls.control(descriptor, getAttributes, attributes), path);
    attributes.writeUInt32LE((attributes.readUInt32LE(flagsAt) | inheritsProject) >>> 0, flagsAt);
    attributes.writeUInt32LE(project, projectAt);
    check(calls.control(descriptor, setAttributes, attributes), path);
    return true;
  } finally {
    closeSync(descriptor);
  }
}

/** The project id of a folder. Not 0, the default project. The chance of a collision among 1,000 folders is 1 in 8,000. */
function projectOf(path: string): number {
  return createHash("sha256").update(path).digest().readUInt32LE() || 1;
}

/** Quotas are in KiB. */
function quotaBlock(bytes: number): Buffer {
  const block = Buffer.alloc(quotaBytes);
  block.writeBigUInt64LE(BigInt(Math.ceil(bytes / 1024)), hardLimitAt);
  block.writeUInt32LE(limitsAreValid, validAt);
  return block;
}

function check(failure: number, path: string): void {
  if (failure !== 0) throw new Error(`Cannot limit the size of "${path}": ${getSystemErrorMessage(-failure)}`);
}

const kernel = lazyLibc((library): QuotaCalls => {
  const syscall = library.func("long syscall(long number, long descriptor, long command, long id, void *block)");
  const ioctl = library.func("int ioctl(int descriptor, unsigned long request, void *argument)");
  const errorOf = (result: unknown): number => (Number(result) < 0 ? koffi.errno() : 0);
  return {
    quota: (descriptor, command, project, block) => errorOf(syscall(quotactlFd, descriptor, command, project, block)),
    control: (descriptor, request, attributes) => errorOf(ioctl(descriptor, request, attributes)),
  };
});
