import { statSync } from "node:fs";
import { messageOf, NodeError } from "../errors.ts";
import type { OciMount, OciSpec } from "../oci/spec.ts";
import { RootView } from "../system/root-view.ts";

/** Filesystems of the kernel that runtimes rely on. A mount gets there only if its path names them literally. */
const kernelFolders: readonly string[] = ["/proc", "/sys", "/dev"];

/**
 * Resolves the symbolic links in the destination of each mount, and creates missing mount points. Images contain links
 * (`/var/run`), and so may a root filesystem or volume that a container has written to: a runtime would follow `/x -> /` and
 * mount a volume for `/x/dev` over `/dev`. Fails when a link leads into /proc, /sys or /dev.
 */
export function placeMounts(spec: OciSpec): OciSpec {
  const view = new RootView(spec.root.path);
  const mounts = spec.mounts.map((mount) => {
    const destination = placeOf(view, mount);
    const readOnly = mount.options.includes("ro") || mount.options.includes("rro");
    view.cover(destination, { source: mount.type === "bind" ? mount.source : undefined, readOnly });
    return { ...mount, destination };
  });
  checkFolder(view, spec.process.cwd);
  return { ...spec, mounts };
}

function placeOf(view: RootView, { destination, type, source }: OciMount): string {
  const wanted = `/${destination.split("/").filter(Boolean).join("/")}`;
  try {
    const isFile = type === "bind" && !statSync(source).isDirectory();
    const found = view.resolve(wanted, isFile ? "make file" : "make folder");
    if (found === "/" || (found !== wanted && [found, wanted].some(isKernels))) {
      throw new Error(`a link in the container's files leads to "${found}"`);
    }
    return found;
  } catch (error) {
    const message = `Cannot mount at "${destination}": ${messageOf(error)}`;
    throw new NodeError("CreateContainerConfigError", message, { cause: error });
  }
}

/** A working directory in /proc could be a file descriptor of the runtime (CVE-2024-21626). */
function checkFolder(view: RootView, cwd: string): void {
  let found: string;
  try {
    found = view.resolve(cwd, "as written");
  } catch (error) {
    const message = `Cannot use working directory "${cwd}": ${messageOf(error)}`;
    throw new NodeError("CreateContainerConfigError", message, { cause: error });
  }
  if (found.startsWith("/proc/")) {
    throw new NodeError("CreateContainerConfigError", `Cannot use working directory "${cwd}": it leads to "${found}"`);
  }
}

function isKernels(path: string): boolean {
  return kernelFolders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}
