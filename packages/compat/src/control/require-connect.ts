import { HttpError } from "../http/http-error.ts";
import type { Callers } from "../ports.ts";
import type { ApiCall } from "./route.ts";

type Call = Pick<ApiCall<{ readonly callers: Callers }>, "context" | "account">;

/** Throws 403 unless the user may send traffic to the Sandbox; an empty name means any. */
export async function requireConnect({ context, account }: Call, name: string): Promise<void> {
  const { user, namespace } = account;
  if (await context.callers.mayConnect(user, namespace, name)) return;
  throw new HttpError(403, `User "${user.username}" cannot connect to sandboxes in the namespace "${namespace}"`);
}
