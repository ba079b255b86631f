export { type ApiKey, formatApiKey, parseApiKey } from "./keys/api-key.ts";
export type { Callers, ClientFor, Mount, SandboxTokens, TokenScope, User } from "./ports.ts";
export { type Compat, type CompatOptions, startCompat } from "./start-compat.ts";
