import { closeSync } from "node:fs";
import { checkCall, lazyLibc } from "./native-call.ts";

/** System call numbers of the mount API of Linux 5.2. They are the same on all supported architectures. */
const numbers = { openTree: 428, moveMount: 429, mountSetAttributes: 442 } as const;
const currentFolder = -100;
const [emptyPath, cloneTree, recursive, closeOnExec] = [0x1000, 1, 0x8000, 0o2_000_000];
const fromEmptyPath = 4;
/** `MOUNT_ATTR_IDMAP`. */
const mapIds = 0x10_0000n;
/** `struct mount_attr`: set, clear, propagation, user namespace; 64 bits each. */
const attributesBytes = 32;

export interface MappedMount extends MappedTree {
  /** An existing folder for a folder, an existing file for a file. */
  readonly target: string;
}

export interface MappedTree {
  readonly source: string;
  /** A descriptor of the user namespace that maps the ids of the files. */
  readonly userNamespace: number;
  /** Includes the mounts below the source. Default false. */
  readonly withSubmounts?: boolean;
}

/**
 * Creates an idmapped mount of a folder or file: an id on the disk is taken as an id inside the user namespace and shown as
 * the id outside. An id without a mapping is shown as nobody, and no capability overrides the permissions of such a file.
 * Throws if the kernel (before 5.12) or the filesystem does not support it.
 */
export function mountMapped({ target, ...tree }: MappedMount): void {
  withMappedTree(tree, (descriptor) => {
    const moved = libraryCalls().moveMount(numbers.moveMount, descriptor, "", currentFolder, target, fromEmptyPath);
    checkCall(moved, `mount "${tree.source}" at "${target}"`);
  });
}

/** Passes `use` a descriptor of a detached idmapped mount, which exists while `use` runs. */
export function withMappedTree<T>(
  { source, userNamespace, withSubmounts = false }: MappedTree,
  use: (descriptor: number) => T,
): T {
  const calls = libraryCalls();
  const below = withSubmounts ? recursive : 0;
  const flags = cloneTree | closeOnExec | below;
  const tree = checkCall(
    calls.openTree(numbers.openTree, currentFolder, source, flags),
    `clone the mount of "${source}"`,
  );
  try {
    const attributes = Buffer.alloc(attributesBytes);
    attributes.writeBigUInt64LE(mapIds, 0);
    attributes.writeBigUInt64LE(BigInt(userNamespace), 24);
    const set = calls.setAttributes(
      numbers.mountSetAttributes,
      tree,
      "",
      emptyPath | below,
      attributes,
      attributesBytes,
    );
    checkCall(set, `map the owners of "${source}"`);
    return use(tree);
  } finally {
    closeSync(tree);
  }
}

const libraryCalls = lazyLibc((library) => {
  const call = (types: readonly string[]) =>
    library.func("syscall", "long", ["long", ...types]) as (...args: readonly unknown[]) => number | bigint;
  return {
    openTree: call(["int", "str", "uint"]),
    moveMount: call(["int", "str", "int", "str", "uint"]),
    setAttributes: call(["int", "str", "uint", "void *", "size_t"]),
  };
});
