export type * from "./kubernetes.ts";
