import { CommandError } from "../command-error.ts";
import type { Connection } from "./connect.ts";

type Server = Pick<Connection, "box" | "transport">;

/** The programs of a box's machine. No other server has this image. */
export const hostImage = "host";

/** The image of a new sandbox for which the user names none. */
export async function defaultImage(server: Server): Promise<string> {
  if (await isBox(server)) return hostImage;
  throw new CommandError(
    "name an image with --image: only a box has an image of its own, and this server is a cluster",
  );
}

/** Whether the server is that of a box, here or on another machine. Its version says so, which every user may read. */
export async function isBox({ box, transport }: Server): Promise<boolean> {
  if (box !== undefined) return true;
  const { status, body } = await transport.send({
    method: "GET",
    path: "/version",
    headers: { accept: "application/json" },
  });
  const version = status === 200 ? (body as { readonly gitVersion?: unknown } | undefined)?.gitVersion : undefined;
  return typeof version === "string" && version.endsWith("+agent-sandbox");
}
