/** Backups in the form of a NetHSM: what is refused, what is left out, and what a lock or a crash leaves. Contract section 8. */

import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { openBackup, readPreamble } from '../../firmware/backup/nethsm/container.ts'
import { encodeString, type NethsmJson, parseJson } from '../../firmware/backup/nethsm/json.ts'
import type { Source } from '../../firmware/backup/reader.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { openGcm, sealGcm } from '../../firmware/crypto/gcm.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { openRig, type Rig, UNLOCK } from '../support/in-process.ts'
import { ADMINISTRATOR, forge } from './forge.ts'
import {
  BACKUP,
  digestStore,
  furnishedRig,
  inventory,
  OTHER_DEVICE,
  restore,
  sign,
  takeBackup,
  unlock,
  useUsersOf,
} from './rig.ts'

const utf8 = (text: string) => new TextEncoder().encode(text)

function sourceOf(bytes: Uint8Array): Source {
  let at = 0
  return {
    read(count) {
      const taken = bytes.subarray(at, at + count)
      at += taken.length
      return taken
    },
  }
}

/** The pieces of a backup, each with its length before it: four fields, the entries, then the end. */
function piecesOf(backup: Uint8Array): { start: Uint8Array; fields: Uint8Array[]; end: Uint8Array } {
  const pieces: Uint8Array[] = []
  let at = 16
  for (;;) {
    const length = (backup[at]! << 16) | (backup[at + 1]! << 8) | backup[at + 2]!
    if (length === 0) break
    pieces.push(backup.subarray(at, at + 3 + length))
    at += 3 + length
  }
  return { start: backup.subarray(0, 16), fields: pieces, end: backup.subarray(at) }
}

const HEAD_FIELDS = 5 // salt, version, domain key, device, key of the settings
const join = (...parts: Uint8Array[]): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.concat(parts))

async function fresh(t: test.TestContext): Promise<Rig> {
  const rig = await openRig(t, OTHER_DEVICE)
  useUsersOf(rig, 'operator', 'backup', 'team~chief')
  return rig
}

test('entries that are missing, moved, doubled or of another backup are noticed', async (t) => {
  const rig = await furnishedRig(t)
  const other = piecesOf(await takeBackup(rig))
  const { start, fields, end } = piecesOf(await takeBackup(rig))
  const [head, entries] = [fields.slice(0, HEAD_FIELDS), fields.slice(HEAD_FIELDS)]
  const made = (some: Uint8Array[], last = end) => join(start, ...head, ...some, last)
  const [first, second] = [entries[5]!, entries[6]!]
  const changed: [string, Uint8Array<ArrayBuffer>][] = [
    ['without an entry', made(entries.filter((entry) => entry !== first))],
    ['without the last one, which counts them', made(entries.slice(0, -1))],
    [
      'two in each other’s place',
      made(entries.map((entry) => (entry === first ? second : entry === second ? first : entry))),
    ],
    ['one twice', made([first, ...entries])],
    ['one of another backup', made([...entries.slice(0, -1), other.fields.at(-2)!, entries.at(-1)!])],
    ['the last one of another backup', made([...entries.slice(0, -1), other.fields.at(-1)!])],
    ['the head of another backup', join(start, ...other.fields.slice(0, HEAD_FIELDS), ...entries, end)],
    ['something after the count', made([...entries, first])],
    ['no end', made(entries, new Uint8Array())],
    ['half an end', made(entries, end.subarray(0, 10))],
    ['more after the end', join(made(entries), Uint8Array.of(0))],
    ['called version 0', Object.assign(made(entries), { 15: 0 })],
    ['a length beyond any entry', join(start, ...head, Uint8Array.of(255, 255, 255))],
  ]
  const target = await fresh(t)
  const rows = digestStore(target.dataDirectory)
  for (const [what, backup] of changed) {
    const { status, json } = await restore(target, { backupPassphrase: BACKUP }, backup, { as: undefined })
    assert.equal(status, 400, `${what}: ${json()?.message}`)
  }
  assert.equal(digestStore(target.dataDirectory), rows)
  assert.equal((await restore(target, { backupPassphrase: BACKUP }, made(entries), { as: undefined })).status, 204)
})

test('paths and settings that no NetHSM writes are refused; what is of another device says nothing', async (t) => {
  const target = await fresh(t)
  const value = systemRandom(60)
  const own = '/local/0123456789'
  const refused: [string, Uint8Array][] = [
    ['/key/..', value],
    ['/key/.ns', value],
    ['/key/ns/id', value],
    ['/key/.ns/id/more', value],
    ['/key/', value],
    [`/key/${'a'.repeat(129)}`, value],
    ['/authentication/a~b~c', value],
    ['/authentication/a/b', value],
    ['/namespace/-', value],
    [`${own}/config/unlock-salt`, value], // another one, not sealed
    [`${own}/config/ip-config`, value],
  ]
  for (const entry of refused)
    assert.equal(
      (await restore(target, { backupPassphrase: BACKUP }, forge([entry]), { as: undefined })).status,
      400,
      entry[0],
    )
  assert.equal(target.appliance.state, 'Unprovisioned')
  const ignored: [string, Uint8Array][] = [
    ['/local/another/config/ip-config', value],
    [`${own}/config/something-new`, value],
    ['/something/new', value],
  ]
  assert.equal((await restore(target, { backupPassphrase: BACKUP }, forge(ignored), { as: undefined })).status, 204)
  await unlock(target)
  assert.equal(target.appliance.state, 'Operational')
})

test('records that cannot be read are left out and logged, and all others are there', async (t) => {
  const target = await fresh(t)
  const broken = [
    '',
    '{}',
    '[',
    '{"mechanisms":[],"priv":{"raw":"AA=="},"cert":null,"operations":0,"restrictions":{}}',
    '{"mechanisms":[],"priv":{"PEM":"-----BEGIN PRIVATE KEY-----"},"cert":null,"operations":0,"restrictions":{}}',
  ]
  const good =
    '{"mechanisms":[],"priv":{"raw":"AAAAAAAAAAAAAAAAAAAAAA=="},"cert":null,"operations":0,"restrictions":{}}'
  const domain = {
    '/authentication/admin': ADMINISTRATOR,
    '/authentication/short': utf8('{"name":"x","salt":"","digest":"","role":"Administrator","tags":[]}'),
    '/authentication/king': utf8(String(new TextDecoder().decode(ADMINISTRATOR)).replace('Administrator', 'King')),
    '/key/good': utf8(good),
    ...Object.fromEntries(broken.map((text, n) => [`/key/broken-${n}`, utf8(text)])),
  }
  const damaged: [string, Uint8Array][] = [['/key/damaged', systemRandom(100)]]
  assert.equal(
    (await restore(target, { backupPassphrase: BACKUP }, forge(damaged, domain), { as: undefined })).status,
    204,
  )
  await unlock(target)
  const { keys, users } = target.appliance.open()
  assert.deepEqual(keys.list('', {}), ['good'])
  assert.deepEqual(users.list(''), ['admin'])
  const left = target.entries.filter(({ message }) => message.includes('of the restored backup is left out'))
  assert.equal(left.length, broken.length + 3)
  assert.ok(left.every(({ message }) => !message.includes('AAAA')))
})

test('an adoption that is cut short goes on at the next unlock', async (t) => {
  const rig = await furnishedRig(t)
  for (let n = 0; n < 130; n++) await rig.key(`many-${n}`) // three batches
  const before = await inventory(rig, 'team~chief')
  const backup = await takeBackup(rig)
  const target = await fresh(t)
  assert.equal((await restore(target, { backupPassphrase: BACKUP }, backup, { as: undefined })).status, 204)
  const { importRaw } = target.pool
  let imports = 0
  target.pool.importRaw = async (...parameters) => {
    if (++imports === 100) throw new CofferError('busy', 'Too many operations are waiting')
    return importRaw(...parameters)
  }
  assert.equal(await target.status('POST', '/unlock', { json: { passphrase: UNLOCK } }), 503)
  assert.equal(target.appliance.state, 'Locked')
  target.pool.importRaw = importRaw
  await unlock(target)
  assert.deepEqual(await inventory(target, 'team~chief'), before)
  await sign(target, 'tagged')
})

test('a lock ends a backup in this form: the domain key goes', async (t) => {
  const rig = await furnishedRig(t)
  const { stream, format } = await rig.appliance.backups.make('nethsm')
  assert.equal(format, 'nethsm')
  const pieces = stream[Symbol.asyncIterator]()
  assert.ok(!(await pieces.next()).done)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  await assert.rejects(async () => {
    for (;;) if ((await pieces.next()).done) return
  }, /Service not available/)
  await unlock(rig)
  assert.ok((await takeBackup(rig)).length > 0)
})

test('the form can be asked for; our own takes over until the passphrase was given to this version', async (t) => {
  const rig = await furnishedRig(t)
  const magic = (backup: Uint8Array) => new TextDecoder().decode(backup.subarray(0, 15))
  assert.equal(magic(await takeBackup(rig)), '_NETHSM_BACKUP_')
  assert.equal(magic(await takeBackup(rig, 'nethsm')), '_NETHSM_BACKUP_')
  assert.equal(magic(await takeBackup(rig, 'coffer')), '_COFFER_BACKUP_')
  assert.equal(await rig.status('POST', '/system/backup?format=zip', { as: 'backup' }), 400)
  // Started without a passphrase from what an earlier version left, or from a backup in our own form.
  rig.appliance.setUnattendedBoot(true)
  const own = await takeBackup(rig, 'coffer')
  const same = await openRig(t)
  useUsersOf(same, 'backup')
  assert.equal((await restore(same, { backupPassphrase: BACKUP }, own, { as: undefined })).status, 204)
  assert.equal(same.appliance.state, 'Operational')
  assert.equal(magic(await takeBackup(same)), '_COFFER_BACKUP_')
  assert.ok(same.entries.some(({ message }) => /in the form of Coffer, since the unlock passphrase/.test(message)))
  await same.status('POST', '/lock', { as: 'admin' })
  await unlock(same)
  assert.equal(magic(await takeBackup(same)), '_NETHSM_BACKUP_')
})

test('JSON of records: any bytes come back from a string, and any text is read or refused', () => {
  const bytes = (value: NethsmJson): number[] => {
    assert.ok(value instanceof Uint8Array)
    return [...value]
  }
  fc.assert(
    fc.property(fc.uint8Array(), (value) => {
      assert.deepEqual(bytes(parseJson(encodeString(value))), [...value])
    }),
  )
  fc.assert(
    fc.property(fc.json({ maxDepth: 3 }), (json) => {
      try {
        parseJson(utf8(json))
      } catch (error) {
        assert.ok(error instanceof CofferError && error.code === 'invalid')
      }
    }),
  )
  fc.assert(
    fc.property(
      fc.oneof(fc.uint8Array(), fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0a1e-') }).map(utf8)),
      (value) => {
        try {
          parseJson(value)
        } catch (error) {
          assert.ok(error instanceof CofferError && error.code === 'invalid')
        }
      },
    ),
  )
  assert.deepEqual(
    parseJson(utf8(' {"a" : [1, -2, null, true], "b": {}} ')),
    new Map<string, NethsmJson>([
      ['a', [1, -2, null, true]],
      ['b', new Map()],
    ]),
  )
  assert.deepEqual(bytes(parseJson(utf8('"\\u0000\\u00e9\\n\\/"'))), [0, 0xc3, 0xa9, 10, 0x2f])
  for (const text of [
    '',
    '{"a":1,"a":2}',
    '01',
    '1.5',
    '"\\x"',
    '"\n"',
    '[1,]',
    '{,}',
    '"',
    '[[[[[[[[[1]]]]]]]]]',
    'nul',
    '1 2',
  ])
    assert.throws(() => parseJson(utf8(text)), CofferError, text)
})

test('whatever follows the magic is read to its end or refused', () => {
  const key = systemRandom(32)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.constantFrom(0, 1, 2), (rest, version) => {
      const bytes = join(utf8('_NETHSM_BACKUP_'), Uint8Array.of(version), rest)
      assert.throws(() => {
        const source = sourceOf(bytes)
        const preamble = readPreamble(source)
        const { entries } = openBackup(source, preamble.version, key)
        for (const _ of entries());
      }, CofferError)
    }),
  )
})

test('sealing as a NetHSM does it: key, context and every bit count', () => {
  const key = systemRandom(32)
  const sealed = sealGcm(key, '/key/a', utf8('a message'), systemRandom)
  assert.deepEqual(openGcm(key, '/key/a', sealed), utf8('a message'))
  assert.equal(openGcm(key, '/key/b', sealed), null)
  assert.equal(openGcm(systemRandom(32), '/key/a', sealed), null)
  for (let n = 0; n < sealed.length; n++) {
    const flipped = sealed.slice()
    flipped[n]! ^= 1
    assert.equal(openGcm(key, '/key/a', flipped), null)
    assert.equal(openGcm(key, '/key/a', sealed.subarray(0, n)), null)
  }
})
