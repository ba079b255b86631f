/**
 * The addresses of Services. The API server allocates Service addresses from this network only, and the node redirects no
 * other addresses. No interface has them: packets to them are redirected to a Pod or dropped.
 */
export const serviceRange = "10.96.0.0/16";

/** The address and port at which Pods reach the API server. No Service can have this address. */
export const apiServerAddress = "10.96.0.1";
export const apiServerPort = 443;
