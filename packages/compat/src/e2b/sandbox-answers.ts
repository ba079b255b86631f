import type { ServerResponse } from "node:http";
import { sendJson } from "../http/reply.ts";
import { isGone, type RouterRefusal } from "../runtime/router-refusal.ts";

/** The clients read these texts. */
export const goneMessage = "The sandbox was not found";
export const closedPortMessage = "The sandbox is running but port is not open";

export function sendGone(response: ServerResponse, sandboxId: string): void {
  sendJson(response, 502, { sandboxId, message: goneMessage, code: 502 });
}

/** The answer of E2B's proxy for what the router refuses. Other statuses would tell the clients that the state is unknown. */
export function sendRefusal(
  response: ServerResponse,
  { name, port }: { readonly name: string; readonly port: number },
  refusal: RouterRefusal,
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const { reason, status, message } = refusal;
  if (isGone(refusal)) return sendGone(response, name);
  switch (reason) {
    case "Refused":
    case "Unreachable":
      return sendJson(response, 502, { sandboxId: name, message: closedPortMessage, port, code: 502 });
    case "SandboxStarting":
      return sendJson(response, 409, {
        code: 409,
        message: "The sandbox is still transitioning. Try again in a moment.",
      });
    case "CallerLimit":
    case "SandboxLimit":
    case "TooManyWaitingRequests":
      return sendJson(response, 429, { code: 429, message });
    default:
      return sendJson(response, status, { code: status, message });
  }
}
