/**
 * The addresses of Services. The API server gives Services addresses from this network only, and the node redirects no
 * others. Nothing has these addresses: packets to them reach a Pod or are dropped.
 */
export const serviceRange = "10.96.0.0/16";
