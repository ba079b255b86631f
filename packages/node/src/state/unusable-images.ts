/** An image that could not be restored, and is kept for inspection. */
export interface UnusableImage {
  readonly path: string;
  readonly retiredAt: number;
  readonly namespace: string;
  readonly bytes: number;
}

const mostImages = 8;
const keptForMs = 7 * 24 * 3_600_000;

/**
 * The unusable images to remove, oldest first. The eight newest are kept for a week, as long as those of one namespace are together not larger
 * than one image may be, and those of all namespaces not larger than twice that. No other limit counts them, and tenants can make any number
 * of them: a Sandbox whose command changes while it is suspended cannot use its image.
 */
export function chooseUnusable(
  images: readonly UnusableImage[],
  now: number,
  mostImageBytes: number,
): readonly UnusableImage[] {
  const seen = new Map<string, number>();
  let [kept, keptBytes] = [0, 0];
  const isKept = ({ retiredAt, namespace, bytes }: UnusableImage): boolean => {
    const own = (seen.get(namespace) ?? 0) + bytes;
    // Counted even if this one is removed, so that older ones of the namespace are removed too.
    seen.set(namespace, own);
    const isInLimits = kept < mostImages && own <= mostImageBytes && keptBytes + bytes <= 2 * mostImageBytes;
    if (!isInLimits || retiredAt < now - keptForMs) return false;
    kept += 1;
    keptBytes += bytes;
    return true;
  };
  return images
    .toSorted((one, other) => other.retiredAt - one.retiredAt)
    .filter((one) => !isKept(one))
    .toReversed();
}
