import type { CustomResourceDefinition } from "@agent-sandbox/api";
import type { Converter } from "../../conversion/converter.ts";
import { webhookAddress } from "../../conversion/webhook-address.ts";
import { WebhookConverter } from "../../conversion/webhook-converter.ts";
import type { ApiContext } from "../../verbs/context.ts";

/** The conversion webhook of a definition, if it has one. */
export function converterOf(
  { spec }: CustomResourceDefinition,
  { store, closing }: Pick<ApiContext, "store" | "closing">,
): Converter | undefined {
  const { strategy, webhook } = spec.conversion ?? {};
  if (strategy !== "Webhook" || webhook === undefined) return undefined;
  return new WebhookConverter({
    address: () => webhookAddress(webhook.clientConfig, store),
    conversionReviewVersions: webhook.conversionReviewVersions,
    signal: closing,
  });
}
