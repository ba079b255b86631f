import { badRequest } from "../api-error.ts";
import { stringAt, valueAt } from "../api-object.ts";
import type { Review } from "../resources/definition.ts";
import type { Identity } from "./identity.ts";

/** Answers a TokenReview, with which other servers authenticate their callers. */
export const tokenReview: Review = ({ context, object }) => {
  const token = stringAt(object, "spec", "token") ?? "";
  if (token === "") throw badRequest("token is required for TokenReview in authentication");
  const given = valueAt(object, "spec", "audiences");
  const audiences = Array.isArray(given) && given.length > 0 ? (given as string[]) : undefined;
  const checked = context.access.authenticator.checkToken(token, audiences);
  if (checked === undefined) return { user: {}, error: "invalid bearer token" };
  if ("problem" in checked) return { user: {}, error: `[invalid bearer token, ${checked.problem}]` };
  return { authenticated: true, user: userInfo(checked.identity), audiences: checked.audiences };
};

/** Answers a SelfSubjectReview, as used by `kubectl auth whoami`. */
export const selfSubjectReview: Review = ({ identity }) => ({ userInfo: userInfo(identity) });

export function userInfo({ user, uid, groups, extra }: Identity): object {
  return {
    username: user,
    ...(uid === undefined ? {} : { uid }),
    groups,
    ...(extra === undefined ? {} : { extra }),
  };
}
