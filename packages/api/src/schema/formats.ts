import { matchesPattern } from "./pattern.ts";

/**
 * The checks of the API server for each `format` of a string. Unknown formats are ignored, as by the API server. The formats
 * for ISBNs, credit cards, RGB colours and social security numbers, which it also checks, are ignored too.
 */
export function isOfFormat(format: string, value: string): boolean {
  const check = checks[format.replaceAll("-", "")];
  return check === undefined || check(value);
}

type Check = (value: string) => boolean;

const uuid = (version: string, variant: string): Check => {
  const pattern = `(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`;
  return (value) => matchesPattern(pattern, value);
};
const pattern =
  (text: string): Check =>
  (value) =>
    matchesPattern(text, value);

const dateTimePattern = /^(\d{4}-\d{2}-\d{2})t(\d{2}):(\d{2}):(\d{2})(?:.\d+)?(?:z|[+-]\d{2}:\d{2})$/i;
const durationUnit = "(?:ns|nanos?|us|µs|micros?|ms|millis?|s|secs?|m|mins?|h|hrs?|hours?|d|days?|w|wks?|weeks?)";

const checks: { readonly [format: string]: Check | undefined } = {
  byte: pattern("^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$"),
  cidr: isCidr,
  date: isDate,
  datetime: isDateTime,
  duration: (value) =>
    matchesPattern("^[-+]?(?:0|(?:(?:[0-9]+\\.?[0-9]*|\\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+)$", value) ||
    matchesPattern(`(?i)^(?:\\s*[0-9]+\\s*${durationUnit})+\\s*$`, value),
  email: isEmail,
  hexcolor: pattern("^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$"),
  hostname: isHostname,
  ipv4: (value) => isIpv4(value) || (value.includes(".") && isIpv6(value)),
  ipv6: isIpv6,
  k8slongname: (value) =>
    value.length <= 253 && matchesPattern("^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", value),
  k8sshortname: pattern("^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$"),
  mac: pattern(
    "^[0-9a-fA-F]{2}(?:([:-])?[0-9a-fA-F]{2})(?:[:-][0-9a-fA-F]{2}){4,6}$|^(?:[0-9a-fA-F]{4}\\.){2,3}[0-9a-fA-F]{4}$",
  ),
  uri: isUri,
  uuid: uuid("[0-9a-f]{4}", "[0-9a-f]"),
  uuid3: uuid("3[0-9a-f]{3}", "[0-9a-f]"),
  uuid4: uuid("4[0-9a-f]{3}", "[89ab]"),
  uuid5: uuid("5[0-9a-f]{3}", "[89ab]"),
};

function isDate(value: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(value);
  if (match === null) return false;
  const [year = 0, month = 0, day = 0] = match.slice(1).map(Number);
  return month >= 1 && month <= 12 && day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}

/** RFC 3339 without leap seconds, as in Go. */
function isDateTime(value: string): boolean {
  const match = dateTimePattern.exec(value);
  if (match === null) return false;
  const [, date = "", hour = "", minute = "", second = ""] = match;
  return isDate(date) && hour <= "23" && minute <= "59" && second <= "59";
}

function isIpv4(value: string): boolean {
  const parts = value.split(".");
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255` */
const longestIpv6 = 45;

function isIpv6(value: string): boolean {
  if (value.length > longestIpv6 || !value.includes(":") || !/^[0-9a-fA-F:.]*$/.test(value)) return false;
  const [head = "", tail, ...more] = value.split("::");
  if (more.length > 0) return false;
  const groups = [head, ...(tail === undefined ? [] : [tail])].flatMap((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1);
  const dotted = last?.includes(".") === true;
  const hex = dotted ? groups.slice(0, -1) : groups;
  if (dotted && !isIpv4(last)) return false;
  if (!hex.every((group) => /^[0-9a-fA-F]{1,4}$/.test(group))) return false;
  const length = hex.length + (dotted ? 2 : 0);
  return tail === undefined ? length === 8 : length < 8;
}

function isCidr(value: string): boolean {
  const [address = "", bits = "", ...more] = value.split("/");
  if (more.length > 0 || !/^\d{1,3}$/.test(bits)) return false;
  return isIpv4(address) ? Number(bits) <= 32 : isIpv6(address) && Number(bits) <= 128;
}

// In a name of one label only the second character may be a hyphen. This follows the expression of Kubernetes.
const letter = "a-zA-Z0-9\\p{S}\\p{L}";
const singleLabel = `^[${letter}](-?[${letter}]{0,62})?$`;
const labels = `^([${letter}]([-${letter}]{0,61}[${letter}])?\\.)+[a-zA-Z\\p{L}]{2,63}$`;

function isHostname(value: string): boolean {
  return value.length <= 255 && (matchesPattern(singleLabel, value) || matchesPattern(labels, value));
}

/** `a@b`, or `Name <a@b>`. */
function isEmail(value: string): boolean {
  const address = /^[^<>]*<([^<>]*)>$/.exec(value)?.[1] ?? value;
  return /^[^\s@<>()[\]:;,\\"]+@[^\s@<>()[\]:;,\\"]+$/.test(address);
}

function isUri(value: string): boolean {
  return value.startsWith("/") || (URL.canParse(value) && /^[A-Za-z][A-Za-z0-9+.-]*:/.test(value));
}
