import { HttpFailure, noSession } from "./http-failure.ts";
import type { Login } from "./login-codes.ts";
import type { Upstream } from "./upstream.ts";

const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const review = JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" });

/** Asks the API server whose token this is. */
export async function identify(api: Upstream, token: string, namespace: string): Promise<Login> {
  const { status, text } = await api.call({ method: "POST", path, session: { token }, body: review });
  if (status === 401) throw noSession();
  if (status >= 300) throw new HttpFailure(502, "ServiceUnavailable", `The API server answered ${status} to a login`);
  const { status: found } = JSON.parse(text) as { status?: { userInfo?: { username?: string } } };
  const user = found?.userInfo?.username;
  if (user === undefined) throw new HttpFailure(502, "ServiceUnavailable", "The API server did not name the user");
  return { token, user, namespace, tokenExpiresAt: expiryOf(token) };
}

/** The claim `exp` of a JSON Web Token. The API server checks it; this only ends the session in time. */
export function expiryOf(token: string): number {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as { exp?: unknown };
    return typeof claims.exp === "number" ? claims.exp * 1000 : Number.POSITIVE_INFINITY;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
