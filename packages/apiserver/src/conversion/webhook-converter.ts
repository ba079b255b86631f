import { randomUUID } from "node:crypto";
import type { ApiObject } from "../api-object.ts";
import { ConversionError } from "./conversion-error.ts";
import { type ReviewRequest, readReview, reviewBody, reviewVersions } from "./conversion-review.ts";
import type { Converter } from "./converter.ts";
import { postJson, type WebhookAddress } from "./webhook-client.ts";

export interface WebhookConfig {
  /** Called before each request, because the endpoints of a Service may change. Throws when there is no address. */
  readonly address: () => WebhookAddress;
  readonly conversionReviewVersions: readonly string[];
  /** Ends calls when the server closes. */
  readonly signal: AbortSignal;
}

// A review is one body, so these limits bound the memory for one call.
const mostObjects = 500;

/** Converts through the webhook of a CustomResourceDefinition. */
export class WebhookConverter implements Converter {
  readonly #config: WebhookConfig;

  constructor(config: WebhookConfig) {
    this.#config = config;
  }

  /** Keeps the order. Objects that already have the wanted version are not sent. */
  async convert(objects: readonly ApiObject[], apiVersion: string, isList = false): Promise<ApiObject[]> {
    const others = objects.filter((object) => object.apiVersion !== apiVersion);
    const converted: ApiObject[] = [];
    for (let at = 0; at < others.length; at += mostObjects) {
      converted.push(...(await this.#review(others.slice(at, at + mostObjects), apiVersion, isList)));
    }
    let next = 0;
    return objects.map((object) => (object.apiVersion === apiVersion ? object : (converted[next++] as ApiObject)));
  }

  async #review(
    objects: readonly ApiObject[],
    desiredAPIVersion: string,
    isList: boolean,
  ): Promise<readonly ApiObject[]> {
    const version = this.#config.conversionReviewVersions.find((each) => reviewVersions.includes(each)) ?? "v1";
    const request: ReviewRequest = { uid: randomUUID(), version, desiredAPIVersion, objects };
    // Errors about a list name the list's own version and kind.
    const about = isList
      ? { ...(objects[0] as ApiObject), apiVersion: desiredAPIVersion, kind: `${objects[0]?.kind}List` }
      : (objects[0] as ApiObject);
    const answer = await this.#post(reviewBody(request)).catch((error: Error) => {
      throw new ConversionError(about, `failed: ${error.message}`, error);
    });
    const result = readReview(answer, request, isList);
    if ("error" in result) throw new ConversionError(about, result.error);
    return result.objects;
  }

  async #post(body: object): Promise<unknown> {
    const { address, signal } = this.#config;
    return postJson(address(), body, signal);
  }
}
