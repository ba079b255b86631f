import type { FieldError } from "../api-error.ts";
import type { Query } from "../request/query.ts";
import { forbidden, notSupported } from "../resources/field-problems.ts";
import { invalidOptions } from "./write-options.ts";

/** The options of a list or a watch. Combinations that kube-apiserver refuses have been refused. */
export interface ListOptions {
  /** The largest number of objects; 0 for all. */
  readonly limit: number;
  readonly continueToken: string | undefined;
  /** As in the query; `""` when it is missing. */
  readonly resourceVersion: string;
  readonly match: "Exact" | "NotOlderThan" | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly sendInitialEvents: boolean | undefined;
}

export function parseListOptions(query: Query, verb: "list" | "watch"): ListOptions {
  const options = {
    limit: query.count("limit") ?? 0,
    continueToken: query.text("continue") || undefined,
    resourceVersion: query.text("resourceVersion") ?? "",
    match: query.text("resourceVersionMatch") || undefined,
    timeoutSeconds: query.count("timeoutSeconds"),
    sendInitialEvents: query.text("sendInitialEvents") === undefined ? undefined : query.flag("sendInitialEvents"),
  };
  const problems = verb === "list" ? listProblems(options) : watchProblems(options);
  if (problems.length > 0) throw invalidOptions("ListOptions", problems);
  return { ...options, match: options.match as ListOptions["match"] };
}

type Unchecked = Omit<ListOptions, "match"> & { readonly match: string | undefined };

const matchField = "resourceVersionMatch";
const whenPaging = "resourceVersionMatch is forbidden when continue is provided";

function listProblems({ match, resourceVersion, continueToken, sendInitialEvents }: Unchecked): FieldError[] {
  const problems: FieldError[] = [];
  if (match !== undefined) {
    if (resourceVersion === "") {
      problems.push(forbidden(matchField, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
    }
    if (continueToken !== undefined) problems.push(forbidden(matchField, whenPaging));
    if (match !== "Exact" && match !== "NotOlderThan") {
      problems.push(notSupported(matchField, match, ["Exact", "NotOlderThan", ""]));
    }
    if (match === "Exact" && resourceVersion === "0") {
      problems.push(forbidden(matchField, 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'));
    }
  }
  if (sendInitialEvents !== undefined) {
    problems.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
  }
  return problems;
}

function watchProblems({ match, continueToken, sendInitialEvents }: Unchecked): FieldError[] {
  const problems: FieldError[] = [];
  if (sendInitialEvents !== undefined && match !== "NotOlderThan") {
    problems.push(forbidden(matchField, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"));
  }
  if (match === undefined) return problems;
  if (sendInitialEvents === undefined) {
    const why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
    problems.push(forbidden(matchField, why));
  }
  if (match !== "NotOlderThan") problems.push(notSupported(matchField, match, ["NotOlderThan"]));
  if (continueToken !== undefined) problems.push(forbidden(matchField, whenPaging));
  return problems;
}
