import { posix } from "node:path";
import { RpcError } from "../../connect/rpc-error.ts";
import type { UserEntry } from "../../runtime/users.ts";
import type { EnvdCall } from "./context.ts";

/** The user that a request acts as. */
export interface ActingUser {
  /** Undefined: the container's own user. */
  readonly name: string | undefined;
  readonly home: string;
  /** Whether the client named the user. */
  readonly isNamed: boolean;
}

/** E2B's images have a user of this name, as whom everything runs by default. */
const defaultName = "user";

/** `wanted` is the user that the client named. */
export async function actingUser(
  { context, target, signal }: EnvdCall,
  wanted: string | undefined,
): Promise<ActingUser> {
  const users = await context.users.of(target, wanted, signal);
  const find = (name: string): UserEntry | undefined => users.find((user) => user.name === name);
  if (wanted !== undefined) {
    const found = find(wanted);
    if (found === undefined) throw new RpcError("unauthenticated", `invalid username: '${wanted.slice(0, 64)}'`);
    return { name: wanted, home: found.home, isNamed: true };
  }
  const usual = find(defaultName);
  if (usual !== undefined) return { name: defaultName, home: usual.home, isNamed: false };
  return { name: undefined, home: users.find(({ uid }) => uid === 0)?.home ?? "/", isNamed: false };
}

/** The name in `Authorization: Basic`, which has no password. */
export function basicUser(authorization: string | undefined): string | undefined {
  const [, encoded] = /^basic ([A-Za-z0-9+/=]+)$/i.exec(authorization ?? "") ?? [];
  if (encoded === undefined) return undefined;
  const [name = ""] = Buffer.from(encoded, "base64").toString("utf8").split(":");
  return name === "" ? undefined : name;
}

/** An absolute path for one that a client gave: relative to the home of the user, or beginning with `~`. */
export function absolutePath(path: string, { home }: Pick<ActingUser, "home">): string {
  if (path.includes("\0")) throw new RpcError("invalid_argument", "a path cannot contain a NUL character");
  if (path === "~" || path.startsWith("~/")) return posix.join(home, path.slice(1));
  if (path.startsWith("~")) throw new RpcError("invalid_argument", `cannot use the path '${path.slice(0, 200)}'`);
  return posix.resolve(home, path);
}
