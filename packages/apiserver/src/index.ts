export {
  type ApiServer,
  type ApiServerOptions,
  createApiServer,
  type Listening,
  type ListenOptions,
} from "./api-server.ts";
export type { Clock } from "./clock.ts";
export type { Logger } from "./logger.ts";
export type { HistoryBounds } from "./store/history.ts";
