export { type SandboxControllerOptions, startSandboxController } from "./sandbox/controller.ts";
export { startTemplateController, type TemplateControllerOptions } from "./template/controller.ts";
export type { RouterPlace } from "./template/desired-policy.ts";
