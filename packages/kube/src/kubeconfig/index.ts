export type { ClusterAccess } from "../client/http/cluster-access.ts";
export { loadDefault } from "./load.ts";
