import { type ApiObject, storeKey } from "../api-object.ts";
import type { Store } from "../store/store.ts";
import type { ProxyView } from "./proxy-target.ts";

export function proxyView(store: Store): ProxyView {
  return {
    pod: (namespace, name) => store.get("pods", storeKey(namespace, name))?.object,
    service: (namespace, name) => store.get("services", storeKey(namespace, name))?.object,
    *pods(namespace): Generator<ApiObject> {
      for (const { object } of store.list("pods", `${namespace}/`)) yield object;
    },
  };
}
