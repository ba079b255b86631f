export { type Keyring, type SigningKey, signingKey } from "./auth/keyring.ts";
export { mintV1 } from "./auth/scoped-token.ts";
export { type Flag, type FlagKind, type FlagName, flags } from "./config/flags.ts";
export { type ConfigResult, type ConfigSources, logLevelOf, readConfig, type Values } from "./config/read-config.ts";
export type { BoundAddress, TcpListener } from "./listen/listeners.ts";
export type { AuthOptions, ListenAddress, RouterOptions, TokenReviewOptions } from "./router-options.ts";
export { type RunRouterOptions, runRouter } from "./run-router.ts";
export { type Router, startRouter } from "./start-router.ts";
