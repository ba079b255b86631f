import { ApiError } from "../api-error.ts";
import { isSuperuser } from "../auth/identity.ts";
import type { ApiContext } from "../verbs/context.ts";
import type { ApiRequest, Reply } from "./api-request.ts";

/** Not a path of Kubernetes, which has no such endpoint. */
export const backupPath = "/agent-sandbox/backup";

/** Serves the whole store, including keys and tokens. Only superusers may read it; no role can allow it. */
export async function backupReply({ store }: ApiContext, { method, identity }: ApiRequest): Promise<Reply> {
  if (!isSuperuser(identity)) {
    throw new ApiError("Forbidden", `User "${identity.user}" cannot get path "${backupPath}": only system:masters can`);
  }
  if (method !== "GET") throw new ApiError("MethodNotAllowed", `the method ${method} is not allowed on ${backupPath}`);
  const body = await store.backUp();
  return { kind: "stream", status: 200, headers: { "content-type": "application/octet-stream" }, body };
}
