import { type ApiObject, storeKey } from "../api-object.ts";
import { authenticatedGroup, type Identity } from "../auth/identity.ts";
import type { Attributes, ResourceAttributes } from "../authorization/attributes.ts";
import { type Clock, timestamp } from "../clock.ts";
import { Query } from "../request/query.ts";
import type { Store } from "../store/store.ts";
import { type ProvidedObject, type ProvidedPlace, routerObjects } from "./router-objects.ts";

/** The object that a request is about, in the terms of a path. */
export interface ProvidedName {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string | undefined;
  readonly name: string | undefined;
}

const dnsLabel = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Objects that the server provides without storing them. They exist in every namespace, for requests by name and for lists
 * with the selector that belongs to them. Other lists and watches do not contain them. They cannot be created, changed
 * or deleted. An object of the same name that an earlier version of the server has stored takes precedence.
 */
export class ProvidedObjects {
  readonly #store: Store;
  readonly #place: Omit<ProvidedPlace, "namespace">;

  constructor(store: Store, { clock, nodeName }: { readonly clock: Clock; readonly nodeName: string | undefined }) {
    this.#store = store;
    this.#place = { nodeName, since: timestamp(clock.now()) };
  }

  find({ group, resource, namespace, name }: ProvidedName): ApiObject | undefined {
    const found = routerObjects.find(
      (each) => each.name === name && each.resource === resource && each.group === group,
    );
    return this.#built(found, namespace);
  }

  /** The object that a list with these parameters looks for. */
  select({ group, resource, namespace }: Omit<ProvidedName, "name">, query: Query): ApiObject | undefined {
    const [selector, ...more] = query.all("labelSelector");
    if (selector === undefined || more.length > 0) return undefined;
    if (["watch", "fieldSelector", "continue"].some((key) => query.all(key).some((value) => value !== "")))
      return undefined;
    const found = routerObjects.find(
      (each) => each.selector === selector && each.resource === resource && each.group === group,
    );
    return this.#built(found, namespace);
  }

  /** Whether nobody may create an object of this name. */
  reserves(resource: string, name: string): boolean {
    return routerObjects.some((each) => each.resource === resource && each.name === name);
  }

  /**
   * Whether a request is allowed regardless of roles: every authenticated user may read these objects and forward a port of
   * the Pod. What a user may do behind that port is decided for each request there.
   */
  allows({ groups }: Identity, wanted: Attributes, url: string): boolean {
    if (wanted.kind !== "resource" || !groups.includes(authenticatedGroup)) return false;
    if (wanted.verb === "list") return wanted.subresource === "" && this.select(wanted, queryOf(url)) !== undefined;
    return isReadOrForward(wanted) && this.find(wanted) !== undefined;
  }

  #built(found: ProvidedObject | undefined, namespace = ""): ApiObject | undefined {
    if (found === undefined || !dnsLabel.test(namespace)) return undefined;
    if (this.#store.get(found.resource, storeKey(namespace, found.name)) !== undefined) return undefined;
    return found.build({ ...this.#place, namespace });
  }
}

const isReadOrForward = ({ verb, resource, subresource }: ResourceAttributes): boolean =>
  (verb === "get" && subresource === "") ||
  (resource === "pods" && subresource === "portforward" && (verb === "get" || verb === "create"));

function queryOf(url: string): Query {
  const mark = url.indexOf("?");
  return new Query(mark < 0 ? "" : url.slice(mark + 1));
}
