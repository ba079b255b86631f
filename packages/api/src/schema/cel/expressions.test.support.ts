import type { Json, StructuralSchema } from "../structural-schema.ts";

/**
 * What rules can say, with objects for which they hold and for which they do not. The same table is asked of a real
 * kube-apiserver.
 */
export interface RuleCase {
  readonly rule: string;
  readonly holds: readonly Json[];
  readonly fails: readonly Json[];
}

const text: StructuralSchema = { type: "string", maxLength: 64 };
const integer: StructuralSchema = { type: "integer" };
const pair: StructuralSchema = { type: "object", properties: { a: integer, b: text } };

/** Bounded, because kube-apiserver refuses rules that could be costly. */
export const selfSchema: StructuralSchema = {
  type: "object",
  properties: {
    s: text,
    n: integer,
    f: { type: "number" },
    b: { type: "boolean" },
    t: { type: "string", format: "date-time" },
    day: { type: "string", format: "date" },
    d: { type: "string", format: "duration" },
    bytes: { type: "string", format: "byte", maxLength: 64 },
    x: { "x-kubernetes-int-or-string": true },
    texts: { type: "array", maxItems: 8, items: text },
    numbers: { type: "array", maxItems: 8, items: integer },
    doubles: { type: "array", maxItems: 8, items: { type: "number" } },
    pairs: { type: "array", maxItems: 8, items: pair },
    map: { type: "object", maxProperties: 8, additionalProperties: text },
    pair,
    namespace: text,
    "a-b.c/d": text,
    "with space": text,
  },
};

/** Rules about nothing, which hold for every object. */
export const truths: readonly string[] = [
  // Strings
  "'tacocat'.charAt(3) == 'o' && 'ab'.charAt(2) == ''",
  "'hello mellow'.indexOf('') == 0 && 'hello mellow'.indexOf('ello') == 1 && 'hello mellow'.indexOf('jello') == -1",
  "'hello mellow'.indexOf('', 2) == 2 && 'hello mellow'.indexOf('ello', 2) == 7 && 'hello'.indexOf('l', 20) == -1",
  "'hello mellow'.lastIndexOf('') == 12 && 'hello mellow'.lastIndexOf('ello') == 7 && 'a'.lastIndexOf('bb') == -1",
  "'hello mellow'.lastIndexOf('ello', 6) == 1 && 'hello mellow'.lastIndexOf('ello', 20) == -1",
  "'TacoCÆt'.lowerAscii() == 'tacocÆt' && 'TacoCæt'.upperAscii() == 'TACOCæT'",
  "'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'",
  "'hello hello'.replace('he', 'we', 0) == 'hello hello' && 'hello'.replace('', '_') == '_h_e_l_l_o_'",
  "'hello'.replace('', '_', 2) == '_h_ello' && 'hello hello'.replace('h', '') == 'ello ello'",
  "'a b c'.split(' ') == ['a', 'b', 'c'] && 'a b c'.split(' ', 0) == [] && 'a b c'.split(' ', 1) == ['a b c']",
  "'a b c'.split(' ', 2) == ['a', 'b c'] && 'a b c'.split(' ', -1).size() == 3 && 'abc'.split('') == ['a', 'b', 'c']",
  "''.split(',') == ['']",
  "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'abc'.substring(3) == ''",
  "'  \\ttrim\\n    '.trim() == 'trim'",
  'strings.quote(\'a "b"\\n\') == \'"a \\\\"b\\\\"\\\\n"\'',
  "'😀é'.size() == 2 && 'x😀y'.charAt(1) == '😀' && 'x😀y'.indexOf('y') == 2 && 'x😀y'.substring(2) == 'y'",
  "'a😀b😀'.lastIndexOf('😀') == 3 && 'x😀y'.replace('', '-') == '-x-😀-y-'",
  // Formatting
  "'%s is %d'.format(['a', 1]) == 'a is 1' && '100%%'.format([]) == '100%'",
  "'%s %s %s'.format([true, null, 1.5]) == 'true null 1.5' && '%s'.format([type(1)]) == 'int'",
  "'%f %.2f'.format([3.14, 2.5]) == '3.140000 2.50'",
  "'%b %x %X %o'.format([5, 26, 26, 30]) == '101 1a 1A 36' && '%b'.format([true]) == '1' && '%x'.format(['hi']) == '6869'",
  "'%s'.format([[1, 2]]) == '[1, 2]' && '%s'.format([{'b': 1, 'a': 2}]) == '{\"a\":2, \"b\":1}'",
  "'%s'.format([duration('1h45m47s')]) == '6347s' && '%s'.format([timestamp('2023-02-03T23:31:20+00:00')]) == '2023-02-03T23:31:20Z'",
  "'%s'.format([['a', 1.5]]) == '[\"a\", 1.500000]'",
  // Conversions
  "string(1) == '1' && string(1.5) == '1.5' && string(true) == 'true' && string(b'abc') == 'abc'",
  "string(duration('90m')) == '5400s' && string(duration('-1.5s')) == '-1.5s' && string(duration('250ms')) == '0.25s'",
  "string(timestamp('2023-02-03T23:31:20.5Z')) == '2023-02-03T23:31:20.5Z'",
  "string(1000000.0) == '1e+06' && string(123456.0) == '123456' && string(0.0001) == '0.0001' && string(0.00001) == '1e-05'",
  "int('42') == 42 && int(3.9) == 3 && int(-3.9) == -3 && int(timestamp('1970-01-01T00:01:00Z')) == 60",
  "double('1.5') == 1.5 && double(2) == 2.0 && uint(3) == 3u && bool('true') && bytes('a') == b'a'",
  "duration('1h') > duration('59m') && duration('1h30m') == duration('90m') && duration('1s').getMilliseconds() == 1000",
  "timestamp('2023-02-03T23:31:20Z').getFullYear() == 2023 && timestamp('2023-02-03T23:31:20Z').getMonth() == 1",
  "timestamp('2023-02-03T23:31:20Z').getDayOfMonth() == 2 && timestamp('2023-02-03T23:31:20Z').getDate() == 3",
  "timestamp('2023-02-03T23:31:20Z').getHours('America/New_York') == 18 && timestamp(60) == timestamp('1970-01-01T00:01:00Z')",
  "timestamp('2023-02-03T23:31:20+02:00') == timestamp('2023-02-03T21:31:20Z')",
  "timestamp('2023-02-03T00:00:00Z') + duration('24h') == timestamp('2023-02-04T00:00:00Z')",
  "type(1) == int && type('a') == string && type([]) == list && type({}) == map && type(null) == null_type",
  // Lists
  "[1, 2, 2].isSorted() && ![2, 1].isSorted() && [false, true].isSorted() && ![2.5, 1.5].isSorted()",
  "[1, 2, 3].sum() == 6 && [1.5, 2.5].sum() == 4.0 && [duration('1m'), duration('1s')].sum() == duration('1m1s')",
  "[3, 1, 2].min() == 1 && [3, 1, 2].max() == 3 && [2.5, 1.5].max() == 2.5",
  "[1, 2, 2, 3].indexOf(2) == 1 && [1, 2, 2, 3].lastIndexOf(2) == 2 && [1].indexOf(2) == -1",
  "[1, 2, 3, 4].slice(1, 3) == [2, 3] && [1].slice(0, 0) == []",
  "[[1, 2], [3]].flatten() == [1, 2, 3] && [[[1]], [[2]]].flatten(2) == [1, 2]",
  "lists.range(3) == [0, 1, 2] && lists.range(0) == []",
  "[3, 1, 2].sort() == [1, 2, 3] && ['b', 'a'].sort() == ['a', 'b'] && [1, 2].reverse() == [2, 1]",
  "[1, 2, 1].distinct() == [1, 2] && ['a', 'a'].distinct() == ['a'] && [[1], [1]].distinct() == [[1]]",
  "['ccc', 'a', 'bb'].sortBy(x, x.size()) == ['a', 'bb', 'ccc']",
  "[1, 2].first() == optional.of(1) && [1, 2].last().value() == 2 && ![].first().hasValue()",
  // Loops with two variables
  "[10, 20].all(i, v, v == (i + 1) * 10) && {'a': 1}.all(k, v, k == 'a' && v == 1)",
  "[1, 2].exists(i, v, i == v - 1 && v == 2) && {'a': 1, 'b': 2}.existsOne(k, v, v > 1) && [1, 2].exists_one(i, v, v == 1)",
  "[1, 2].transformList(i, v, i + v) == [1, 3] && [1, 2].transformList(i, v, v > 1, i + v) == [3]",
  "{'a': 1}.transformMap(k, v, v + 1) == {'a': 2} && {'a': 1, 'b': 2}.transformMap(k, v, v > 1, v) == {'b': 2}",
  "{'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
  // Sets
  "sets.contains([1, 2, 3], [2, 3]) && !sets.contains([1], [2]) && sets.contains([1], [])",
  "sets.equivalent([1, 2, 2], [2, 1]) && !sets.equivalent([1], [1, 2]) && sets.intersects([1, 2], [2, 3])",
  "!sets.intersects([1], [2]) && sets.contains([1, 2], [1.0, 2.0].map(x, int(x)))",
  // Regular expressions
  "'abc 123'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
  "'123 abc 456'.findAll('[0-9]+') == ['123', '456'] && '1 2 3'.findAll('[0-9]', 2) == ['1', '2'] && 'a'.findAll('b') == []",
  "'1 2 3'.findAll('[0-9]', 0) == [] && 'abc'.matches('^[a-c]+$') && matches('abc', 'b')",
  // URLs
  "isURL('https://user:pass@example.com:80/path?query=val#fragment') && isURL('/absolute-path') && isURL('mailto:a@b.c')",
  "!isURL('https://a:b:c/') && !isURL('../relative-path') && !isURL('') && !isURL('example.com') && !isURL('http://a b/')",
  "!isURL('http://[::1/') && isURL('http://[::1]:80/') && !isURL('http://x/%zz') && !isURL(':foo') && isURL('*')",
  "url('/path').getScheme() == '' && url('https://example.com/').getScheme() == 'https' && url('HTTP://a/').getScheme() == 'http'",
  "url('https://example.com:80/').getHost() == 'example.com:80' && url('https://[::1]:80/').getHost() == '[::1]:80' && url('/path').getHost() == ''",
  "url('https://example.com:80/').getHostname() == 'example.com' && url('https://[::1]:80/').getHostname() == '::1'",
  "url('https://example.com:80/').getPort() == '80' && url('https://example.com/').getPort() == ''",
  "url('https://example.com/path with spaces/').getEscapedPath() == '/path%20with%20spaces/' && url('https://e.com').getEscapedPath() == ''",
  "url('https://e.com/a%2Fb').getEscapedPath() == '/a%2Fb' && url('https://e.com/ü').getEscapedPath() == '/%C3%BC'",
  "url('https://example.com/path?k1=a&k2=b&k2=c').getQuery() == {'k1': ['a'], 'k2': ['b', 'c']} && url('https://e.com/?').getQuery() == {}",
  "url('https://e.com/?key with spaces=a+b%21').getQuery() == {'key with spaces': ['a b!']} && url('https://e.com/?a').getQuery() == {'a': ['']}",
  "url('https://e.com/p?q#f').getQuery() == {'q': ['']} && url('https://e.com/a') == url('https://e.com/a')",
  // Quantities
  "isQuantity('1.3Gi') && isQuantity('10000k') && isQuantity('-5') && isQuantity('1e3') && isQuantity('.5')",
  "!isQuantity('200K') && !isQuantity('Three') && isQuantity('Mi') && isQuantity('+') && !isQuantity('1,3G') && !isQuantity('')",
  "quantity('200M').compareTo(quantity('0.2G')) == 0 && quantity('50M').compareTo(quantity('50Mi')) == -1",
  "quantity('150Mi').isGreaterThan(quantity('100Mi')) && quantity('50M').isLessThan(quantity('100M'))",
  "quantity('50k').add(quantity('20k')) == quantity('70k') && quantity('50k').add(20) == quantity('50020')",
  "quantity('50k').sub(quantity('20k')) == quantity('30k') && quantity('50k').sub(20000) == quantity('30k')",
  "quantity('50k').add(20).sub(quantity('100k')).sub(-50000) == quantity('20') && sign(quantity('-5')) == -1 && sign(quantity('0')) == 0",
  "quantity('50000000G').isInteger() && quantity('50k').asInteger() == 50000 && !quantity('1.5').isInteger() && quantity('2Gi').isInteger()",
  "!quantity('9999999999999999999999999999999999999G').isInteger() && !quantity('1000m').isInteger() && !quantity('1.5Gi').isInteger()",
  "quantity('50.703k').asApproximateFloat() == 50703.0 && quantity('0.5').asApproximateFloat() == 0.5",
  // Addresses and networks
  "isIP('127.0.0.1') && isIP('::1') && !isIP('127.0.0.256') && !isIP('01.2.3.4') && !isIP('fe80::1%eth0') && !isIP('::ffff:1.2.3.4')",
  "!isIP('1:2:3') && isIP('1:2:3:4:5:6:7:8') && !isIP('1::2::3') && isIP('64:ff9b::192.0.2.33') && !isIP('')",
  "ip('192.168.0.1').family() == 4 && ip('::1').family() == 6 && string(ip('2001:DB8:0:0:1:0:0:1')) == '2001:db8::1:0:0:1'",
  "ip.isCanonical('127.0.0.1') && ip.isCanonical('2001:db8::1') && !ip.isCanonical('2001:db8::0:1') && !ip.isCanonical('2001:DB8::1')",
  "ip('0.0.0.0').isUnspecified() && ip('127.5.0.1').isLoopback() && ip('224.0.0.1').isLinkLocalMulticast() && ip('ff02::1').isLinkLocalMulticast()",
  "ip('169.254.169.254').isLinkLocalUnicast() && ip('fe80::1').isLinkLocalUnicast() && ip('192.168.0.1').isGlobalUnicast() && !ip('255.255.255.255').isGlobalUnicast()",
  "ip('127.0.0.1') == ip('127.0.0.1') && ip('127.0.0.1') != ip('10.0.0.1')",
  "string(ip('1:0:0:2::')) == '1:0:0:2::' && string(ip('0:0:0:0:0:0:0:0')) == '::' && string(ip('1:0:2:0:0:3:0:0')) == '1:0:2::3:0:0'",
  "isCIDR('192.168.0.0/16') && isCIDR('::1/128') && !isCIDR('192.168.0.0/33') && !isCIDR('192.168.0.1') && !isCIDR('1.2.3.4/08')",
  "cidr('192.168.0.0/24').containsIP(ip('192.168.0.1')) && cidr('192.168.0.0/24').containsIP('192.168.0.1') && !cidr('192.168.0.0/24').containsIP('192.168.1.1')",
  "cidr('192.168.0.0/16').containsCIDR(cidr('192.168.10.0/24')) && !cidr('192.168.1.0/24').containsCIDR('192.168.2.0/24') && cidr('10.0.0.0/8').containsCIDR('10.0.0.0/8')",
  "cidr('192.168.1.5/24').ip() == ip('192.168.1.5') && cidr('10.0.0.0/8').prefixLength() == 8 && cidr('192.168.1.5/24').masked() == cidr('192.168.1.0/24')",
  "string(cidr('2001:db8::/32')) == '2001:db8::/32' && !cidr('::/0').containsIP('1.2.3.4')",
  // Named formats
  "!format.dns1123Label().validate('my-name').hasValue() && format.dns1123Label().validate('My').hasValue() && format.dns1123Label().validate('a.b').value() == ['must not contain dots']",
  "!format.dns1123Subdomain().validate('a.b').hasValue() && format.dns1035Label().validate('1a').hasValue() && !format.dns1035Label().validate('a1').hasValue()",
  "!format.qualifiedName().validate('example.com/name').hasValue() && format.qualifiedName().validate('a/b/c').hasValue() && format.qualifiedName().validate('/b').hasValue()",
  "!format.dns1123LabelPrefix().validate('a-').hasValue() && !format.labelValue().validate('').hasValue() && format.labelValue().validate('-a').hasValue()",
  "!format.uri().validate('http://example.com').hasValue() && format.uri().validate('example').hasValue() && !format.uuid().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
  "format.uuid().validate('1').value() == ['does not match the UUID format'] && format.byte().validate('!').value() == ['invalid base64'] && !format.byte().validate('aGVsbG8=').hasValue()",
  "!format.date().validate('2021-01-01').hasValue() && format.date().validate('2021-13-01').value() == ['invalid date'] && format.datetime().validate('x').value() == ['invalid datetime']",
  "format.named('dns1123Label').hasValue() && !format.named('nothing').hasValue() && !format.named('uri').value().validate('/a').hasValue()",
  // Versions
  "isSemver('1.0.0') && isSemver('0.1.0-alpha.1+build') && !isSemver('v1.0.0') && !isSemver('1.0') && !isSemver('01.0.0') && !isSemver('1.0.0-01')",
  "isSemver('v1.0', true) && isSemver('01.01.01', true) && !isSemver('1.0-alpha', true) && semver('v1', true) == semver('1.0.0')",
  "semver('1.2.3').major() == 1 && semver('1.2.3').minor() == 2 && semver('1.2.3').patch() == 3",
  "semver('1.2.3').compareTo(semver('1.2.3')) == 0 && semver('1.2.3').compareTo(semver('2.0.0')) == -1 && semver('1.0.0').isGreaterThan(semver('1.0.0-rc.1'))",
  "semver('1.0.0-alpha.2').isLessThan(semver('1.0.0-alpha.10')) && semver('1.0.0-alpha').isLessThan(semver('1.0.0-alpha.1')) && semver('1.0.0-1').isLessThan(semver('1.0.0-a'))",
  // Optional values
  "optional.of(1).hasValue() && !optional.none().hasValue() && optional.of(1).value() == 1 && optional.none().orValue(2) == 2",
  "!optional.ofNonZeroValue('').hasValue() && optional.ofNonZeroValue('a').hasValue() && !optional.ofNonZeroValue(0).hasValue()",
  "optional.of(1).optMap(x, x + 1).value() == 2 && !optional.none().optMap(x, x).hasValue() && optional.of(1).optFlatMap(x, optional.of(x + 1)).value() == 2",
  "optional.unwrap([optional.of(1), optional.none()]) == [1] && [optional.of(1)].unwrapOpt() == [1] && {'a': 1}[?'b'].orValue(3) == 3",
  "[1, 2][?5].or(optional.of(7)).value() == 7 && {'a': {'b': 1}}.?a.?b.orValue(0) == 1 && {'a': 1}.?b.or(optional.of(2)).value() == 2",
  // The language itself
  "1 + 2 * 3 == 7 && 7 / 2 == 3 && -7 % 3 == -1 && 1 < 2.5 && 2u > 1 && 'a' + 'b' == 'ab' && [1] + [2] == [1, 2]",
  "(true || 1 / 0 > 0) && !(false && 1 / 0 > 0) && [1, 0].exists(x, 1 / x > 0) && (true ? 1 : 2) == 1",
  "[1, 2, 3].filter(x, x > 1).map(x, x * 2) == [4, 6] && [1, 2].exists_one(x, x == 1) && [1, 2, 3].map(x, x > 1, x) == [2, 3]",
  "'a' in ['a', 'b'] && 'k' in {'k': 1} && !('z' in {'k': 1}) && size('abc') == 3 && [1, 2].size() == 2 && {'a': 1}.size() == 1",
  "'abc'.contains('b') && 'abc'.startsWith('a') && 'abc'.endsWith('c') && b'abc'.size() == 3 && r'\\d' == '\\\\d'",
  "dyn(1) == 1.0 && dyn([1]) == [1.0] && dyn(1) != 'a' && 1 != 2",
];

/** Rules about objects. */
export const ruleCases: readonly RuleCase[] = [
  {
    rule: "self.texts.join() == 'ab' && self.texts.join(', ') == 'a, b'",
    holds: [{ texts: ["a", "b"] }],
    fails: [{ texts: ["b", "a"] }, { texts: [] }],
  },
  { rule: "self.texts.join('/') == ''", holds: [{ texts: [] }], fails: [{ texts: ["a"] }] },
  {
    rule: "self.texts.min() == 'a' && self.texts.max() == 'c' && self.texts.indexOf('c') == 1 && self.texts.lastIndexOf('x') == -1",
    holds: [{ texts: ["b", "c", "a"] }],
    fails: [{ texts: [] }, { texts: ["a", "b", "c"] }],
  },
  { rule: "self.s.matches('^[a-z]+$')", holds: [{ s: "abc" }], fails: [{ s: "A" }, {}] },
  { rule: "!has(self.s) || self.s.size() <= 3", holds: [{}, { s: "abc" }, { s: "äöü" }], fails: [{ s: "abcd" }] },
  { rule: "self.n > 3 && self.n % 2 == 0", holds: [{ n: 4 }], fails: [{ n: 5 }, { n: 2 }, {}] },
  { rule: "self.f > 1 && self.f != 2.0", holds: [{ f: 1.5 }, { f: 3 }], fails: [{ f: 2 }, { f: 0.5 }] },
  { rule: "has(self.b) && self.b", holds: [{ b: true }], fails: [{ b: false }, {}] },
  {
    rule: "self.t > timestamp('2020-01-01T00:00:00Z') && self.t.getFullYear() < 2030",
    holds: [{ t: "2025-05-05T10:00:00+02:00" }],
    fails: [{ t: "2019-12-31T23:59:59Z" }, { t: "2031-01-01T00:00:00Z" }],
  },
  {
    rule: "self.day == timestamp('2024-02-29T00:00:00Z')",
    holds: [{ day: "2024-02-29" }],
    fails: [{ day: "2024-03-01" }],
  },
  {
    rule: "self.d <= duration('1h') && self.d.getMinutes() > 1",
    holds: [{ d: "60m" }],
    fails: [{ d: "61m" }, { d: "1s" }],
  },
  { rule: "self.bytes == b'hello'", holds: [{ bytes: "aGVsbG8=" }], fails: [{ bytes: "aGVsbA==" }] },
  {
    rule: "type(self.x) == int ? self.x < 5 : self.x.endsWith('%')",
    holds: [{ x: 4 }, { x: "50%" }],
    fails: [{ x: 5 }, { x: "50" }],
  },
  {
    rule: "self.texts.all(t, t.startsWith('a'))",
    holds: [{ texts: ["a", "ab"] }, { texts: [] }],
    fails: [{ texts: ["a", "b"] }],
  },
  {
    rule: "self.texts.isSorted() && self.texts.join(',').size() < 6",
    holds: [{ texts: ["a", "b"] }],
    fails: [{ texts: ["b", "a"] }, { texts: ["aaa", "bbb"] }],
  },
  {
    rule: "self.numbers.sum() == 6 && self.numbers.max() == 3",
    holds: [{ numbers: [1, 2, 3] }],
    fails: [{ numbers: [6] }, { numbers: [] }],
  },
  { rule: "self.doubles.sum() > 1.0", holds: [{ doubles: [1, 0.5] }], fails: [{ doubles: [] }, { doubles: [1] }] },
  {
    rule: "self.pairs.all(p, self.pairs.exists_one(q, q.a == p.a))",
    holds: [{ pairs: [{ a: 1 }, { a: 2 }] }],
    fails: [{ pairs: [{ a: 1 }, { a: 1 }] }],
  },
  {
    rule: "self.pairs.map(p, p.b).distinct().size() == self.pairs.size()",
    holds: [{ pairs: [{ b: "x" }, { b: "y" }] }],
    fails: [{ pairs: [{ b: "x" }, { b: "x" }] }],
  },
  {
    rule: "self.pairs.sortBy(p, p.a)[0].b == 'low'",
    holds: [
      {
        pairs: [
          { a: 2, b: "x" },
          { a: 1, b: "low" },
        ],
      },
    ],
    fails: [
      {
        pairs: [
          { a: 2, b: "low" },
          { a: 1, b: "x" },
        ],
      },
    ],
  },
  {
    rule: "self.map.all(k, k.size() == 1 && self.map[k] != '')",
    holds: [{ map: { a: "x" } }],
    fails: [{ map: { ab: "x" } }, { map: { a: "" } }],
  },
  { rule: "self.map.exists(k, v, k == v)", holds: [{ map: { a: "a" } }], fails: [{ map: { a: "b" } }] },
  {
    rule: "'a' in self.map && self.map.size() == 1",
    holds: [{ map: { a: "x" } }],
    fails: [{ map: { b: "x" } }, { map: { a: "x", b: "y" } }],
  },
  {
    rule: "self.?s.orValue('none') == 'none' && self.?pair.?a.orValue(1) == 1",
    holds: [{}, { s: "none" }],
    fails: [{ s: "x" }, { pair: { a: 2 } }],
  },
  { rule: "self.?pair.optMap(p, p.a > 1).orValue(true)", holds: [{}, { pair: { a: 2 } }], fails: [{ pair: { a: 1 } }] },
  {
    rule: "self.__namespace__ == self.a__dash__b__dot__c__slash__d",
    holds: [{ namespace: "x", "a-b.c/d": "x" }],
    fails: [{ namespace: "x", "a-b.c/d": "y" }],
  },
  {
    rule: "isQuantity(self.s) && quantity(self.s).isLessThan(quantity('1Gi'))",
    holds: [{ s: "512Mi" }],
    fails: [{ s: "2Gi" }, { s: "x" }],
  },
  {
    rule: "isURL(self.s) && url(self.s).getScheme() in ['http', 'https']",
    holds: [{ s: "https://a/b" }],
    fails: [{ s: "ftp://a/b" }, { s: "a" }],
  },
  {
    rule: "isIP(self.s) || (isCIDR(self.s) && cidr(self.s).masked() == cidr(self.s))",
    holds: [{ s: "10.0.0.1" }, { s: "10.0.0.0/8" }],
    fails: [{ s: "10.0.0.1/8" }, { s: "x" }],
  },
  { rule: "!format.dns1123Label().validate(self.s).hasValue()", holds: [{ s: "ok" }], fails: [{ s: "Not" }] },
  {
    rule: "isSemver(self.s) && semver(self.s).major() == 1",
    holds: [{ s: "1.2.3" }],
    fails: [{ s: "2.0.0" }, { s: "1" }],
  },
  { rule: "self.s.charAt(1) == 'b'", holds: [{ s: "ab" }], fails: [{ s: "ba" }, { s: "" }] },
  { rule: "10 / self.n == 5", holds: [{ n: 2 }], fails: [{ n: 0 }, { n: 3 }] },
  { rule: "self.numbers[1] == 2", holds: [{ numbers: [1, 2] }], fails: [{ numbers: [1] }] },
  { rule: "int(self.s) == 5", holds: [{ s: "5" }], fails: [{ s: "x" }, { s: "" }, { s: "0x5" }] },
  {
    rule: "duration(self.s) == duration('90s')",
    holds: [{ s: "1m30s" }],
    fails: [{ s: "90" }, { s: "1s" }, { s: "" }],
  },
  {
    rule: "timestamp(self.s).getDate() == 3",
    holds: [{ s: "2023-02-03T00:00:00Z" }],
    fails: [{ s: "2023-02-03" }, { s: "Fri, 03 Feb 2023 00:00:00 GMT" }],
  },
];

/** Rules that no schema may have: they call what is not there, read what is not there, or compare what cannot be. */
export const refused: readonly string[] = [
  "self.s.",
  "self.s",
  "foo(self.s)",
  "self.s.foo()",
  "self.missing == 1",
  "self.pairs.all(p, p.missing)",
  "self.s > 1",
  "self.n == 'a'",
  "self.f == 1",
  "self.n + self.s == ''",
  "self.s.matches(1)",
  "quantity(self.n) == quantity('1')",
  "isURL(self.n)",
  "self.numbers.sum() == 'x'",
  "self.texts.sum() == 1",
  "math.greatest(1, 2) == 2",
  "cel.bind(x, 1, x == 1)",
  "base64.encode(b'a') == 'YQ=='",
  "b'a'.base64() == 'YQ=='",
  "'ab'.reverse() == 'ba'",
  "__matches('a', 'a')",
  "other == 1",
  "self['with space'] == ''",
  "self.map == 1",
  "self.numbers.all(x, x)",
  "self.t == '2020-01-01T00:00:00Z'",
  "self.d > 5",
  "self.x.foo()",
  "authorizer.path('/')",
  "self.pairs.exists(p, p == self.pair)",
];
