import { badRequest } from "../api-error.ts";
import { stringAt } from "../api-object.ts";
import type { Review } from "../resources/definition.ts";
import { joinProblems } from "./authorizer.ts";

/** Answers a SelfSubjectRulesReview: the caller's permissions in a namespace, as shown by `kubectl auth can-i --list`. */
export const selfSubjectRulesReview: Review = ({ context, identity, object }) => {
  const namespace = stringAt(object, "spec", "namespace") ?? "";
  if (namespace === "") throw badRequest("no namespace on request");
  const { rules, problems } = context.access.authorizer.rulesOf(identity, namespace);
  const resourceRules = rules
    .filter(({ resources = [] }) => resources.length > 0)
    .map(({ nonResourceURLs: _urls, ...rule }) => rule);
  const nonResourceRules = rules.flatMap(({ verbs, nonResourceURLs = [] }) =>
    nonResourceURLs.length === 0 ? [] : [{ verbs, nonResourceURLs }],
  );
  const evaluationError = problems.length === 0 ? {} : { evaluationError: joinProblems(problems) };
  return { resourceRules, nonResourceRules, incomplete: false, ...evaluationError };
};
