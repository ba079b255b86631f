export { connectVerb } from "./auth/access-reviewer.ts";
export { type Keyring, type SigningKey, signingKey } from "./auth/keyring.ts";
export { mintV1, mintV2, type TokenClaims, verifyToken } from "./auth/scoped-token.ts";
export { tokensNotBeforeAnnotation } from "./auth/token-scope.ts";
export { RouterError, type RouterReason } from "./router-error.ts";
export type { AuthOptions, ListenAddress, RouterOptions, TokenReviewOptions } from "./router-options.ts";
export { type BoundAddress, type Router, startRouter, type TcpListener } from "./start-router.ts";
