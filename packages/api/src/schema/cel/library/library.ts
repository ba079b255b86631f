/** Functions by their signature, such as `string.charAt(int): string`. The receiver is the first argument. They throw on failure. */
export interface Functions {
  // The type checker of CEL ensures that arguments match the signature.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [signature: string]: (...args: any[]) => unknown;
}

/** A group of functions that Kubernetes adds to CEL, with their types. */
export interface Library {
  readonly functions: Functions;
  /** Classes of values by the name of their CEL type. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly types?: { readonly [name: string]: new (...args: any[]) => object };
  /** Prefixes such as `sets` in `sets.contains`: functions whose receiver is `namespace.sets`. */
  readonly namespaces?: readonly string[];
  /** Equality functions by type. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly equals?: { readonly [type: string]: (a: any, b: any) => boolean };
}
