export * from "./killed-for-memory.ts";
export { oneLine } from "./one-line.ts";
export { describeTrouble, kindOfTrouble, type PodTrouble, podTroubleOf, unscheduled } from "./pod-trouble.ts";
export { isSameTrouble, troubleIn, whyNotReady, withoutNumbers, withTrouble } from "./reported-trouble.ts";
