import { open } from "node:fs/promises";
import type { Container, Pod } from "@agent-sandbox/api";
import { NodeError } from "../errors.ts";
import { openBeneath } from "../system/beneath.ts";

export interface User {
  readonly uid: number;
  readonly gid: number;
  readonly groups: readonly number[];
}

/** The content of an image's /etc/passwd and /etc/group; "" for a missing file. */
export interface Accounts {
  readonly passwd: string;
  readonly group: string;
}

/** Larger files are ignored. */
const fileLimit = 1024 * 1024;

/** The user that a container runs as: the Pod's, else the image's, else root. */
export function userOf(pod: Pod, container: Container, imageUser: string | undefined, accounts: Accounts): User {
  const [own, shared] = [container.securityContext, pod.spec?.securityContext];
  const wanted = own?.runAsUser ?? shared?.runAsUser;
  const [imageName = "", imageGroup] = (imageUser ?? "").split(":");
  const account = findAccount(wanted === undefined ? imageName || "0" : String(wanted), accounts);
  const group =
    own?.runAsGroup ?? shared?.runAsGroup ?? (wanted === undefined ? groupId(imageGroup, accounts) : undefined);
  const gid = group ?? account.gid;
  if ((own?.runAsNonRoot ?? shared?.runAsNonRoot) && account.uid === 0) {
    throw new NodeError("CreateContainerConfigError", "container has runAsNonRoot and image will run as root");
  }
  const fsGroup = shared?.fsGroup === undefined ? [] : [shared.fsGroup];
  const groups = new Set([...(shared?.supplementalGroups ?? []), ...fsGroup, ...memberships(account.name, accounts)]);
  return { uid: account.uid, gid, groups: [...groups].filter((one) => one !== gid) };
}

function findAccount(wanted: string, { passwd }: Accounts): { name?: string; uid: number; gid: number } {
  for (const [name, , uid, gid] of rows(passwd)) {
    if (name === wanted || uid === wanted) return { ...(name && { name }), uid: idOf(uid), gid: idOf(gid) };
  }
  if (/^\d+$/.test(wanted)) return { uid: idOf(wanted), gid: 0 };
  throw new NodeError(
    "CreateContainerConfigError",
    `Cannot run as user "${wanted}": the image has no user of that name`,
  );
}

function groupId(wanted: string | undefined, { group }: Accounts): number | undefined {
  if (!wanted) return undefined;
  const row = rows(group).find(([name, , id]) => name === wanted || id === wanted);
  if (row !== undefined) return idOf(row[2]);
  if (/^\d+$/.test(wanted)) return idOf(wanted);
  throw new NodeError(
    "CreateContainerConfigError",
    `Cannot run as group "${wanted}": the image has no group of that name`,
  );
}

function memberships(name: string | undefined, { group }: Accounts): number[] {
  if (name === undefined) return [];
  return rows(group).flatMap(([, , id, members = ""]) => (members.split(",").includes(name) ? [idOf(id)] : []));
}

/** Refuses invalid ids: the runtime would read them as 0, which is root. */
function idOf(text: string | undefined): number {
  const id = /^\d{1,10}$/.test(text ?? "") ? Number(text) : Number.POSITIVE_INFINITY;
  if (id < 2 ** 31) return id;
  throw new NodeError("CreateContainerConfigError", `Cannot run as user or group "${text}": it is not an id`);
}

function rows(text: string): string[][] {
  return text.split("\n").map((line) => line.trim().split(":"));
}

/** Reads the accounts from an untrusted root filesystem, without following links. */
export async function readAccounts(rootfs: string): Promise<Accounts> {
  const [passwd, group] = await Promise.all(["etc/passwd", "etc/group"].map((path) => readBeneath(rootfs, path)));
  return { passwd: passwd ?? "", group: group ?? "" };
}

async function readBeneath(rootfs: string, path: string): Promise<string> {
  try {
    await using found = await openBeneath(rootfs, path);
    const facts = await found.stat();
    if (!facts.isFile() || facts.size > fileLimit) return "";
    await using file = await open(`/proc/self/fd/${found.fd}`);
    // A fixed-size read: the file may grow in the meantime.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(facts.size), 0, facts.size, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch {
    return "";
  }
}
