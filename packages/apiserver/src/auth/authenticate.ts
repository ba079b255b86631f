import { ApiError } from "../api-error.ts";
import { sameToken } from "./admin-token.ts";
import type { Identity } from "./identity.ts";

const admin: Identity = { user: "admin", groups: ["system:masters", "system:authenticated"] };
export const anonymous: Identity = { user: "system:anonymous", groups: ["system:unauthenticated"] };

/** What anybody may know: that the server lives, and which one it is. */
const openPaths = new Set(["/healthz", "/livez", "/readyz", "/version"]);

export interface Credentials {
  readonly path: string;
  readonly authorization: string | undefined;
}

export function authenticate({ path, authorization }: Credentials, token: string): Identity {
  const given = /^Bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
  if (given !== undefined && sameToken(given, token)) return admin;
  if (authorization === undefined && openPaths.has(path)) return anonymous;
  throw new ApiError("Unauthorized", "Unauthorized");
}
