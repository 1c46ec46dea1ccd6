/** The reader of generated Dart decoders: what they take, and what they refuse as Dart does. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDecoders } from './dart.ts'

const SOURCE = `
Thing _$ThingFromJson(Map<String, dynamic> json) => Thing(
  id: (json['id'] as num).toInt(),
  name: json['name'] as String? ?? 'none',
  kind: $enumDecode(_$KindEnumMap, json['kind']),
  lax: $enumDecodeNullable(
    _$KindEnumMap,
    json['lax'],
    unknownValue: Kind.unknown,
  ),
  parts: (json['parts'] as List<dynamic>?)
      ?.map((e) => Part.fromJson(e as Map<String, dynamic>))
      .toList(),
  byId: (json['by_id'] as Map<String, dynamic>).map(
    (k, e) => MapEntry(int.parse(k), (e as num?)?.toInt()),
  ),
  owner: json['owner'] == null ? null : Owner._read(json, 'owner'),
)..extra = Extra.read(json['extra']);

const _$KindEnumMap = {Kind.small: 'small', Kind.level: 2};

Part _$PartFromJson(Map<String, dynamic> json) {
  $checkKeys(
    json,
    requiredKeys: const ['at'],
    disallowNullValues: const ['at'],
  );
  return Part(json['at'] as bool?, isOwn: const XConverter().fromJson(json['own'] as String));
}

Map<String, dynamic> _$PartToJson(Part instance) => <String, dynamic>{'at': instance.at};
`

const natives = {
  'int.parse': (value: unknown) => Number(value),
  'Owner._read': (json: unknown, key: unknown) => (json as Record<string, unknown>)[key as string],
  'Extra.read': (value: unknown) => value,
  'XConverter.fromJson': (value: unknown) => `${value}!`,
}
const decoders = readDecoders([SOURCE], natives)
const right = { id: 1, kind: 'small', by_id: { 4: null }, parts: [{ at: true, own: 'x' }] }
const decode = (changes: object) => decoders.decode('Thing', { ...right, ...changes })

test('decodes what Dart decodes', () => {
  assert.deepEqual(decoders.names, ['Thing', 'Part'])
  assert.deepEqual(decode({ lax: 'other', owner: 'me', extra: 7 }), {
    id: 1,
    name: 'none',
    kind: 'small',
    lax: 'other',
    parts: [{ 0: true, isOwn: 'x!' }],
    byId: { 4: null },
    owner: 'me',
    extra: 7,
  })
  assert.deepEqual([...decoders.used], ['Part', 'Thing'])
  assert.deepEqual(decoders.enumerations.get('Kind'), ['small', 2])
  decode({ parts: null, kind: 2, lax: null })
})

for (const [what, changes, message] of [
  ['a missing member', { id: undefined }, /Thing: json\['id'\] is missing, not num/],
  ['null', { id: null }, /is null, not num/],
  ['another type', { id: '1' }, /is "1", not num/],
  ['an unknown value of an enumeration', { kind: 'large' }, /"large" is none of \["small",2\]/],
  ['no value of an enumeration', { kind: null }, /lacks its value/],
  ['a wrong item of a list', { parts: [1] }, /Thing: e is 1, not Map/],
  ['a list for an object', { by_id: [] }, /is \[\], not Map/],
  ['an item without a required key', { parts: [{ own: 'x' }] }, /at is missing/],
  ['null for a required key', { parts: [{ at: null, own: 'x' }] }, /at is null/],
  ['a wrong value of a nullable type', { parts: [{ at: 1, own: 'x' }] }, /is 1, not bool/],
] as const)
  test(`refuses ${what}`, () => assert.throws(() => decode(changes), message))

test('names what it cannot read', () => {
  const unknown = readDecoders(["X _$XFromJson(Map<String, dynamic> json) => X(Y.read(json['a']));\n"], {})
  assert.throws(() => unknown.decode('X', {}), /Y\.read is written by hand/)
  const broken = "X _$XFromJson(Map<String, dynamic> json) => X(json['a'] ! 1);\n"
  assert.throws(() => readDecoders([broken], {}), /X: expected , before ! 1/)
})
