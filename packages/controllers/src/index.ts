export { type SandboxControllerOptions, startSandboxController } from "./sandbox/controller.ts";
