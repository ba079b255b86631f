/** A kind that both servers serve, with the data for its generated cases. */
export interface KindUnderTest {
  /** The plural name in paths. */
  readonly plural: string;
  /** The prefix of the names of its cases. Default: the plural. */
  readonly title?: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Default: true. */
  readonly namespaced?: boolean;
  /** The fields of a valid object besides apiVersion, kind and metadata. */
  readonly valid: object;
  /** A merge patch with a valid change. */
  readonly change: object;
  /** A valid status. Absent if there is no status subresource. */
  readonly status?: object;
  /** Merge patches that make the valid object invalid, by name. */
  readonly invalid: { readonly [what: string]: object };
}
