import type { ApiRequest, ObjectReply } from "../request/api-request.ts";
import type { RequestPath } from "../request/request-path.ts";
import type { AccountTokens } from "./account-tokens.ts";
import { publicJwk } from "./jwt.ts";

/** Serves OpenID Connect Discovery 1.0, with which other servers verify tokens of service accounts. */
export function openIdReply(
  { issuer, key }: AccountTokens,
  asked: RequestPath,
  { method }: Pick<ApiRequest, "method">,
): ObjectReply | undefined {
  if (asked.kind !== "other" || method !== "GET") return undefined;
  const { path } = asked;
  if (path === "/.well-known/openid-configuration") {
    return reply("application/json", {
      issuer,
      jwks_uri: `${issuer}/openid/v1/jwks`,
      response_types_supported: ["id_token"],
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    });
  }
  return path === "/openid/v1/jwks" ? reply("application/jwk-set+json", { keys: [publicJwk(key)] }) : undefined;
}

function reply(type: string, body: object): ObjectReply {
  const headers = { "content-type": type, "cache-control": "public, max-age=3600" };
  return { kind: "object", status: 200, headers, body };
}
