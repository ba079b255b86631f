import { closeSync } from "node:fs";
import { getSystemErrorMessage } from "node:util";
import koffi from "koffi";

/** System calls of the newer mount interface. Their numbers are the same on all architectures this runs on. */
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
  /** A descriptor of the user namespace whose mapping translates the ids of the files. */
  readonly userNamespace: number;
  /** Whether what is mounted below the source comes along. Default false. */
  readonly withSubmounts?: boolean;
}

/**
 * Mounts a folder or file with its owners translated: an id on the disk is looked up in the user namespace as an id
 * inside it, and is shown as the id outside. An id that is not mapped belongs to nobody, and no capability overrides
 * the permissions of such a file. Throws where the kernel (before 5.12) or the filesystem cannot do it.
 */
export function mountMapped({ target, ...tree }: MappedMount): void {
  withMappedTree(tree, (descriptor) => {
    const moved = loadedCalls().moveMount(numbers.moveMount, descriptor, "", currentFolder, target, fromEmptyPath);
    check(moved, `mount "${tree.source}" at "${target}"`);
  });
}

/** The same without a place in the tree: what `use` is given stands for the folder, for as long as `use` runs. */
export function withMappedTree<T>(
  { source, userNamespace, withSubmounts = false }: MappedTree,
  use: (descriptor: number) => T,
): T {
  const calls = loadedCalls();
  const below = withSubmounts ? recursive : 0;
  const flags = cloneTree | closeOnExec | below;
  const tree = check(calls.openTree(numbers.openTree, currentFolder, source, flags), `clone the mount of "${source}"`);
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
    check(set, `map the owners of "${source}"`);
    return use(tree);
  } finally {
    closeSync(tree);
  }
}

function check(result: number | bigint, what: string): number {
  if (result >= 0) return Number(result);
  throw new Error(`Cannot ${what}: ${getSystemErrorMessage(-koffi.errno())}`);
}

type Calls = ReturnType<typeof loadCalls>;
let loaded: Calls | undefined;

/** Loaded with the first call. */
function loadedCalls(): Calls {
  loaded ??= loadCalls();
  return loaded;
}

function loadCalls() {
  const library = koffi.load("libc.so.6");
  const call = (types: readonly string[]) =>
    library.func("syscall", "long", ["long", ...types]) as (...args: readonly unknown[]) => number | bigint;
  return {
    openTree: call(["int", "str", "uint"]),
    moveMount: call(["int", "str", "int", "str", "uint"]),
    setAttributes: call(["int", "str", "uint", "void *", "size_t"]),
  };
}
