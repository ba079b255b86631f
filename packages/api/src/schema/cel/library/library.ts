/** Functions by their signature, as `string.charAt(int): string`; the receiver comes first. They throw when they fail. */
export interface Functions {
  // Signatures say what the arguments are, and the checker holds callers to it.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly [signature: string]: (...args: any[]) => unknown;
}

/** A group of functions that Kubernetes adds to CEL, with the types that they are about. */
export interface Library {
  readonly functions: Functions;
  /** Classes of values, by CEL's name. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly types?: { readonly [name: string]: new (...args: any[]) => object };
  /** Prefixes such as `sets` in `sets.contains`: functions whose receiver is `namespace.sets`. */
  readonly namespaces?: readonly string[];
  /** By type. */
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly equals?: { readonly [type: string]: (a: any, b: any) => boolean };
}
