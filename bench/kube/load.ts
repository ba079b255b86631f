/** The size of the benchmark, known to the server and to those who check that all of it arrived. */
export const podCount = 10_000;
/** Five updates of each pod. */
export const eventCount = 50_000;
