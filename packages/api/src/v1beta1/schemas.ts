export { sandboxClaimStatus } from "../shapes/claim-shapes.ts";
export { sandboxSpec, sandboxStatus } from "./sandbox.ts";
export { sandboxClaimSpec } from "./sandbox-claim.ts";
export { sandboxTemplateSpec } from "./sandbox-template.ts";
export { sandboxWarmPoolSpec, sandboxWarmPoolStatus } from "./sandbox-warm-pool.ts";
