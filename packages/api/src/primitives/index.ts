export { canonicalJson } from "./canonical-json.ts";
export {
  findCondition,
  isConditionTrue,
  type ReportedCondition,
  removeCondition,
  setCondition,
} from "./condition.ts";
export { Cors, type CorsRules, originProblem } from "./cors.ts";
export { type Creator, knownCreators, normaliseCreatedBy } from "./created-by.ts";
export { deepEqual, type JsonObject } from "./deep-equal.ts";
export { parseDurationMs, parseDurationNanos } from "./duration.ts";
export { Exposition, expositionType, labelText } from "./exposition.ts";
export { adaptCondition, adaptMessage, adaptReason, type ForeignCondition } from "./foreign-condition.ts";
export { type ListenAddress, parseListenAddress } from "./listen-address.ts";
export { applyMergePatch, mergePatch } from "./merge-patch.ts";
export { nameHash } from "./name-hash.ts";
export {
  controllerOf,
  controllerReference,
  type GroupKind,
  groupOf,
  isControlledBy,
  type Owned,
  refersToKind,
  withController,
} from "./owner-reference.ts";
export { compareQuantities, parseQuantity, type Quantity } from "./quantity.ts";
export { semanticEqual } from "./semantic-equal.ts";
export { apiServerAddress, apiServerPort, serviceRange } from "./service-range.ts";
export { compareTimes, formatMicroTime, formatTime, type Instant, parseTime } from "./time.ts";
