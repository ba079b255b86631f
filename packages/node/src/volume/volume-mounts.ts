import { mkdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Container } from "@agent-sandbox/api";
import { messageOf, NodeError } from "../errors.ts";
import { type Environment, expand } from "../oci/environment.ts";
import type { OciMount } from "../oci/spec.ts";
import type { VolumePlace } from "../pod/record.ts";
import { openBeneath } from "../system/beneath.ts";
import { mountMapped } from "../system/mount-tree.ts";
import { bindDescriptor, mountsUnder } from "../system/mounts.ts";
import { RootView } from "../system/root-view.ts";
import type { OpenUsers } from "../users/pod-users.ts";

type VolumeMount = NonNullable<Container["volumeMounts"]>[number];

export interface MountsInput {
  readonly container: Container;
  readonly volumes: Readonly<Record<string, VolumePlace>>;
  /** For `subPathExpr`. */
  readonly environment: Environment;
  /** The folder for the mount points of `subPath` mounts. It is removed with the container. */
  readonly subPaths: string;
  /** The user namespace that owns the files, for a Pod that has one. */
  readonly users?: OpenUsers | undefined;
}

/** The mounts of a container's volumes, outermost first, so that none hides another. */
export async function volumeMounts(input: MountsInput): Promise<OciMount[]> {
  const mounts: OciMount[] = [];
  for (const [index, mount] of (input.container.volumeMounts ?? []).entries()) {
    const place = input.volumes[mount.name];
    if (place === undefined) throw new NodeError("CreateContainerConfigError", `volume "${mount.name}" is not mounted`);
    const readOnly = (mount.readOnly ?? false) || (place.readOnly ?? false);
    const source = await sourceOf(mount, place, index, input);
    const options = ["rbind", readOnly ? "ro" : "rw", "rprivate", "nosuid", "nodev"];
    mounts.push({ destination: mount.mountPath, type: "bind", source, options });
  }
  return mounts.toSorted((a, b) => a.destination.split("/").length - b.destination.split("/").length);
}

async function sourceOf(mount: VolumeMount, place: VolumePlace, index: number, input: MountsInput): Promise<string> {
  const subPath =
    mount.subPathExpr === undefined ? (mount.subPath ?? "") : expand(mount.subPathExpr, input.environment);
  const { users } = input;
  const target = join(input.subPaths, String(index));
  if (subPath === "") return users === undefined || place.isMapped ? place.path : mapVolume(place.path, target, users);
  try {
    return await bindSubPath(place.path, subPath, { target, users: place.isMapped ? undefined : users });
  } catch (error) {
    const message = `failed to prepare subPath for volumeMount "${mount.name}" of container "${input.container.name}": ${messageOf(error)}`;
    throw new NodeError("CreateContainerConfigError", message, { cause: error });
  }
}

/**
 * Mounts the file or folder at a path of a volume. Containers may write to the volume, so symbolic links are followed only if
 * they stay inside it, and the resolved path is then opened without following any.
 */
async function bindSubPath(volume: string, subPath: string, { target, users }: Target): Promise<string> {
  if (subPath.startsWith("/") || subPath.split("/").includes("..") || subPath.includes("\0")) {
    throw new Error(`"${subPath}" is not a path below the volume`);
  }
  const inside = new RootView(volume, "inside").resolve(subPath, "as written");
  await using handle = await openBeneath(volume, inside, { makeMode: 0o755 });
  if ((await mountsUnder(target)).includes(target)) return target;
  await makeTarget(target, (await handle.stat()).isDirectory());
  const source = `/proc/self/fd/${handle.fd}`;
  if (users === undefined) await bindDescriptor(handle.fd, target);
  else mountMapped({ source, target, userNamespace: users.descriptor });
  return target;
}

interface Target {
  readonly target: string;
  readonly users: OpenUsers | undefined;
}

/** A volume on a filesystem without idmapped mounts is mounted unmapped. Its files then belong to nobody inside the Pod. */
async function mapVolume(volume: string, target: string, { descriptor: userNamespace }: OpenUsers): Promise<string> {
  if ((await mountsUnder(target)).includes(target)) return target;
  await makeTarget(target, (await stat(volume)).isDirectory());
  try {
    mountMapped({ source: volume, target, userNamespace, withSubmounts: true });
    return target;
  } catch {
    return volume;
  }
}

async function makeTarget(target: string, isFolder: boolean): Promise<void> {
  await mkdir(isFolder ? target : join(target, ".."), { recursive: true, mode: 0o700 });
  if (!isFolder && (await stat(target).catch(() => undefined)) === undefined) await writeFile(target, "");
}
