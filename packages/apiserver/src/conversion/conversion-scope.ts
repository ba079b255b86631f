import { ApiError } from "../api-error.ts";
import type { ApiObject } from "../api-object.ts";
import type { Target } from "../request/target.ts";
import type { ResourceDefinition } from "../resources/definition.ts";
import type { Converter } from "./converter.ts";

/** Thrown during the decision about a write when it needs a conversion that has not been made yet. */
class ConversionPending extends Error {
  override readonly name = "ConversionPending";
  readonly object: ApiObject;
  readonly apiVersion: string;

  constructor(object: ApiObject, apiVersion: string) {
    super(`Cannot go on without "${object.metadata.name}" in ${apiVersion}`);
    this.object = object;
    this.apiVersion = apiVersion;
  }
}

/** A write needs a few: the stored object and the new one, and both for each version in which fields are owned. */
const mostConversions = 50;

/**
 * Runs a request for objects that a webhook converts. Decisions about writes are synchronous and cannot wait, so a decision that
 * lacks a conversion is abandoned, the conversion is made, and the decision is repeated on the current state. `run` may be called
 * many times and must not change anything before it has all conversions. `name` is the generated name that it must use for a new
 * object each time.
 */
export async function withConversions<T>(
  target: Target,
  converter: Converter,
  run: (target: Target, name?: string) => Promise<T>,
): Promise<T> {
  const scope = new ConversionScope(target.definition, converter);
  const bound = { ...target, definition: scope.definition };
  let name: string | undefined;
  for (let made = 0; ; made += 1) {
    try {
      return await run(bound, name);
    } catch (error) {
      if (!(error instanceof ConversionPending)) throw error;
      if (made === mostConversions)
        throw new ApiError("InternalError", `${error.message}: too many conversions are needed`);
      await scope.add(error.object, error.apiVersion);
      name = error.object.metadata.name;
    }
  }
}

/** The conversions of one request. They are not kept longer, because a webhook may convert differently the next time. */
class ConversionScope {
  readonly #made = new Map<string, ApiObject>();
  readonly #converter: Converter;
  readonly definition: ResourceDefinition;

  constructor(definition: ResourceDefinition, converter: Converter) {
    this.#converter = converter;
    const convert = (object: ApiObject, apiVersion: string): ApiObject => {
      const made = this.#made.get(keyOf(object, apiVersion));
      if (made === undefined) throw new ConversionPending(object, apiVersion);
      return withMetadataOf(made, object);
    };
    const remembering: Converter = {
      convert: async (objects, apiVersion, isList) => {
        const converted = await converter.convert(objects, apiVersion, isList);
        for (const [at, object] of objects.entries())
          this.#made.set(keyOf(object, apiVersion), converted[at] as ApiObject);
        return converted;
      },
    };
    this.definition = { ...definition, converter: remembering, strategy: { ...definition.strategy, convert } };
  }

  async add(object: ApiObject, apiVersion: string): Promise<void> {
    const [converted] = await this.#converter.convert([object], apiVersion);
    this.#made.set(keyOf(object, apiVersion), converted as ApiObject);
  }
}

/** The parts that a webhook may read and change. Other metadata is set by the server and differs between attempts. */
function keyOf({ metadata, ...rest }: ApiObject, apiVersion: string): string {
  const { name, namespace, labels, annotations } = metadata;
  return JSON.stringify([apiVersion, name, namespace, labels, annotations, rest]);
}

function withMetadataOf(converted: ApiObject, object: ApiObject): ApiObject {
  const { labels: _labels, annotations: _annotations, ...own } = object.metadata;
  const { labels, annotations } = converted.metadata;
  const metadata = {
    ...own,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
  };
  return { ...converted, metadata };
}
