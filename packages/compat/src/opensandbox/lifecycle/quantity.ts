/** An amount as Kubernetes writes it, but not a negative one. */
export const isQuantity = (text: string): boolean => /^\d{1,15}(?:\.\d{1,9})?(?:[numkMGTPE]|[KMGTPE]i)?$/.test(text);
