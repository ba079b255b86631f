/** Who a request comes from. */
export interface Identity {
  readonly user: string;
  readonly groups: readonly string[];
}
