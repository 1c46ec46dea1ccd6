// @test short slow
/** Exports: contract section 3.7, rows E121 to E123; V29, V30; levels 182, 295, 304, 449. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { verifyExport } from '../../../tools/chat-verify.ts'
import { Random } from '../model/operations.ts'
import type { Client, RegisteredQueue } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const MIB = 1024 * 1024
const LARGE_BYTES = (process.env.COFFER_SLOW === undefined ? 80 : 1024) * MIB
const MEMORY_BYTES_MAX = 32 * MIB // however large it is, with what a busy computer has not yet sent

/** So that what counts is what is held, and not what nobody has collected yet. */
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const scratch = mkdtempSync(join(tmpdir(), 'coffer-export-'))
after(() => rmSync(scratch, { recursive: true, force: true }))

const {
  rig,
  iago: admin,
  hamlet,
  ophelia,
} = await chatSuite({ iago: 'administrator', hamlet: 'member', ophelia: 'member' })
rig.channel('general', [hamlet, ophelia])
rig.channel('agreed', [hamlet, ophelia], { isPrivate: true, historyPublicToSubscribers: false })
rig.channel('closed', [ophelia], { isPrivate: true })
const upload = async (client: Client, name: string) =>
  (await client.upload('POST', '/user_uploads', Buffer.from(`bytes of ${name}`), {}, name)).body.url
const say = async (client: Client, to: string | number[], content: string) =>
  client.post('/messages', { type: typeof to === 'string' ? 'channel' : 'direct', to, topic: 't', content })
before(async () => {
  await hamlet.patch('/settings', { allow_private_data_export: true })
  await say(ophelia, 'general', `in public [a](${await upload(ophelia, 'public.txt')})`)
  await say(ophelia, 'agreed', `where Hamlet reads [b](${await upload(ophelia, 'agreed.txt')})`)
  await say(ophelia, 'closed', `where Hamlet does not [c](${await upload(ophelia, 'closed.txt')})`)
  await say(ophelia, [hamlet.user.id], 'to Hamlet')
  await say(ophelia, [ophelia.user.id], 'to herself')
  await upload(hamlet, 'own.txt')
  await hamlet.post('/users/me/alert_words', { alert_words: ['ghost'] })
  await ophelia.post('/users/me/alert_words', { alert_words: ['flowers'] })
})

const heard = async (queue: RegisteredQueue) => (await queue.events()).map(({ id: _, ...event }) => event)

async function bytesOf(url: string, from?: string): Promise<Buffer> {
  const path = url.replace('https://chat.example', '')
  const headers = { host: 'chat.example', ...(from !== undefined && { range: from }) }
  const response = await rig.chat.api.request(`http://chat.example${path}`, { headers })
  assert.ok(response.ok, `${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

async function exported(type: string, by = admin) {
  const { id } = await by.post('/export/realm', { export_type: type })
  await rig.chat.makeExports()
  const { exports } = await by.get('/export/realm')
  const shown = exports.find((one: { id: number }) => one.id === id)
  assert.equal(shown.pending, false)
  const file = join(scratch, `${id}.tar`)
  writeFileSync(file, await bytesOf(shown.export_url))
  const names = execFileSync('tar', ['tf', file], { encoding: 'utf8' }).trim().split('\n')
  const text = (name: string) => execFileSync('tar', ['xOf', file, name], { encoding: 'utf8' })
  return { id, shown, file, names, text, json: (name: string) => JSON.parse(text(`${name}.json`)) }
}

const contents = (messages: { content: string }[]) => messages.map(({ content }) => content.replace(/ \[.*/, ''))
const files = ({ names, text }: { names: string[]; text: (name: string) => string }) =>
  names
    .filter((name) => name.startsWith('uploads/'))
    .map(text)
    .sort()
// biome-ignore lint/suspicious/noExplicitAny: rows of any table
const namesOf = (rows: any[]) => rows.map(({ name }) => name)

describe('POST /export/realm: what is in it', () => {
  it('public: channels that are not private, and their files', async () => {
    const queue = await admin.register({ event_types: ['realm_export'] })
    const others = await hamlet.register({ event_types: ['realm_export'] })
    const made = await exported('public')
    const told = await heard(queue)
    assert.deepEqual(
      told.map(({ exports }) => [exports.at(-1).pending, exports.at(-1).export_url !== null]),
      [
        [true, false],
        [false, true],
      ],
    )
    assert.deepEqual(await heard(others), [])
    assert.deepEqual(
      { ...made.shown, export_url: '' },
      {
        id: made.id,
        acting_user_id: admin.user.id,
        export_time: Math.floor(rig.now() / 1000),
        deleted_timestamp: null,
        failed_timestamp: null,
        export_url: '',
        pending: false,
        export_type: 'public',
        export_from_prior_server: false,
      },
    )
    assert.deepEqual(contents(made.json('messages-000001')), ['in public'])
    assert.deepEqual(namesOf(made.json('channels')), ['general'])
    assert.deepEqual(made.json('conversations'), [])
    assert.deepEqual(made.json('personal'), [])
    assert.deepEqual(files(made), ['bytes of public.txt'])
    assert.equal(made.json('users').length, 4 + 3)
    assert.equal(made.json('organization').name, 'Testing')
  })

  it('with consent: besides, what those can read who have agreed, and what is theirs', async () => {
    const made = await exported('full_with_consent')
    assert.deepEqual(contents(made.json('messages-000001')), ['in public', 'where Hamlet reads', 'to Hamlet'])
    assert.deepEqual(namesOf(made.json('channels')), ['general', 'agreed'])
    assert.deepEqual(made.json('conversations').length, 1)
    assert.deepEqual(
      made.json('personal').map(({ user_id, alert_words }: Record<string, unknown>) => [user_id, alert_words]),
      [[hamlet.user.id, ['ghost']]],
    )
    assert.deepEqual(files(made), ['bytes of agreed.txt', 'bytes of own.txt', 'bytes of public.txt'])
  })

  it('without consent: all, by owners whom the operator lets read all', async () => {
    const values = { export_type: 'full_without_consent' }
    await rig.owner.refused('BAD_REQUEST', 'POST', '/export/realm', values)
    changeOperatorSettings(rig.chat.realm, { ownerFullContentAccess: true })
    await admin.refused('BAD_REQUEST', 'POST', '/export/realm', values)
    const queues = [await admin.register({ event_types: ['realm_export'] }), await rig.owner.register()]
    const made = await exported('full_without_consent', rig.owner)
    changeOperatorSettings(rig.chat.realm, { ownerFullContentAccess: false })
    const told = await Promise.all(
      queues.map(async (queue) => (await heard(queue)).filter(({ type }) => type === 'realm_export')),
    )
    const isTold = told.map((events) => typeof events.at(-1).exports.at(-1).export_url)
    assert.deepEqual(isTold, ['object', 'string'], 'administrators hear of it, owners where it is')
    const listed = (await admin.get('/export/realm')).exports.find(({ id }: { id: number }) => id === made.id)
    assert.deepEqual(listed, { ...made.shown, export_url: null })
    const all = contents(made.json('messages-000001'))
    for (const one of ['in public', 'where Hamlet does not', 'to herself']) assert.ok(all.includes(one), one)
    assert.deepEqual(namesOf(made.json('channels')), ['general', 'agreed', 'closed'])
    assert.equal(files(made).length, 4)
  })

  it('nothing of it is a secret', async () => {
    const { text, names } = await exported('full_with_consent')
    const all = names.map(text).join('\n')
    const { realm } = rig.chat
    for (const { hash, sealed } of realm.state.apiKey.all())
      for (const secret of [hash, sealed]) assert.ok(secret === null || !all.includes(secret))
    for (const { hash, salt } of realm.state.password.all()) assert.ok(!all.includes(hash) && !all.includes(salt))
  })
})

describe('/export/realm: exports', () => {
  it('five in a week', async () => {
    await admin.post('/export/realm')
    await rig.chat.makeExports()
    const { body } = await admin.refused('BAD_REQUEST', 'POST', '/export/realm')
    assert.match(body.msg, /^Exceeded rate limit/)
    await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/export/realm', { export_type: 'all' })
    rig.advance(7 * 86_400)
    await admin.post('/export/realm')
    await rig.chat.makeExports()
  })

  it('deleted: the bytes go, that there was one stays', async () => {
    const { id, shown } = await exported('public')
    const { realm } = rig.chat
    const before = realm.store.files.all().length
    const queue = await admin.register({ event_types: ['realm_export'] })
    await admin.delete(`/export/realm/${id}`)
    assert.equal(realm.store.files.all().length, before - 1)
    const gone = (await admin.get('/export/realm')).exports.find((one: { id: number }) => one.id === id)
    assert.deepEqual([gone.export_url, gone.pending], [null, false])
    assert.equal(gone.deleted_timestamp, Math.floor(rig.now() / 1000))
    assert.equal((await heard(queue)).length, 1)
    await assert.rejects(bytesOf(shown.export_url), /404/)
    await admin.refused('BAD_REQUEST', 'DELETE', `/export/realm/${id}`)
    await admin.refused('BAD_REQUEST', 'DELETE', '/export/realm/9999')
  })

  it('outlive a stop; one that it interrupts has failed, and nothing of that stays', async () => {
    const { id } = await exported('public')
    const pending = (await admin.post('/export/realm')).id
    rig.reopen()
    const { exports } = await admin.get('/export/realm')
    const [whole, failed] = [id, pending].map((wanted) => exports.find((one: { id: number }) => one.id === wanted))
    assert.deepEqual([failed.pending, failed.export_url, typeof failed.failed_timestamp], [false, null, 'number'])
    const bytes = await bytesOf(whole.export_url)
    assert.equal((await verifyExport(chunksOf(bytes))).problem, null)
    assert.deepEqual(await bytesOf(whole.export_url, 'bytes=0-99'), bytes.subarray(0, 100))
    await admin.refused('BAD_REQUEST', 'DELETE', `/export/realm/${pending}`)
    rig.advance(61)
    await assert.rejects(bytesOf(whole.export_url), /404/)
    rig.advance(7 * 86_400)
  })

  it('/export/realm: who has agreed, told to administrators when it changes (V30)', async () => {
    const queue = await admin.register({ event_types: ['realm_export_consent'] })
    const others = await hamlet.register({ event_types: ['realm_export_consent'] })
    await ophelia.patch('/settings', { allow_private_data_export: true })
    await ophelia.patch('/settings', { allow_private_data_export: false })
    const event = { type: 'realm_export_consent', user_id: ophelia.user.id }
    assert.deepEqual(await heard(queue), [
      { ...event, consented: true },
      { ...event, consented: false },
    ])
    assert.deepEqual(await heard(others), [])
    const { export_consents } = await admin.get('/export/realm/consents')
    assert.deepEqual(
      export_consents.filter(({ consented }: { consented: boolean }) => consented),
      [{ user_id: hamlet.user.id, consented: true, email_address_visibility: 1 }],
    )
    assert.equal(export_consents.length, 4)
  })
})

it(`one of ${LARGE_BYTES / MIB} MiB is made and sent with the memory of a small one, while others go on`, async (t) => {
  const { realm } = rig.chat
  rig.advance(7 * 86_400)
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const { url } = (await hamlet.upload('POST', '/user_uploads', chunk, {}, 'large.bin')).body
  const upload = realm.store.uploads.byPath(url.replace('/user_uploads/', ''))!
  t.after(() => hamlet.delete(`/attachments/${upload.id}`))
  const count = LARGE_BYTES / chunk.length
  for (let number = 1; number < count; number += 16)
    realm.store.files.write(upload.id, number, Array(Math.min(16, count - number)).fill(chunk))
  realm.transaction(() => {
    realm.store.uploads.remove(upload.id)
    realm.store.uploads.add({ ...upload, sizeBytes: LARGE_BYTES })
  })
  const heldBytes = () => {
    collect()
    const { external, heapUsed } = process.memoryUsage()
    return external + heapUsed
  }
  const before = heldBytes()
  let most = 0
  const note = () => {
    most = Math.max(most, heldBytes() - before)
  }
  const { id } = await admin.post('/export/realm', { export_type: 'full_with_consent' })
  let isMade = false
  const made = rig.chat.makeExports().finally(() => {
    isMade = true
  })
  let answers = 0
  for (; !isMade; answers++) {
    await hamlet.get('/users/me')
    if (answers % 16 === 0) note()
    else await wait(1)
  }
  await made
  t.after(() => admin.delete(`/export/realm/${id}`))
  assert.ok(answers > 10, `others were served ${answers} times`)
  const { export_url } = (await admin.get('/export/realm')).exports.find((one: { id: number }) => one.id === id)
  const response = await rig.chat.api.request(export_url.replace('https://', 'http://'), {
    headers: { host: 'chat.example' },
  })
  let pieces = 0
  const watched = async function* () {
    for await (const piece of response.body!) {
      if (pieces++ % 100 === 0) note()
      yield piece
    }
  }
  assert.equal((await verifyExport(watched(), rig.chat.exportKey)).problem, null)
  t.diagnostic(
    `at most ${(most / MIB).toFixed(1)} MiB held; the process had ${process.resourceUsage().maxRSS >> 10} MiB`,
  )
  assert.ok(most < MEMORY_BYTES_MAX, `${most} bytes`)
})

async function* chunksOf(bytes: Uint8Array, size = 4096) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

describe('tools/chat-verify.ts', () => {
  it('finds any changed byte, what is missing and what was added', async () => {
    const { shown, file } = await exported('full_with_consent')
    const bytes = await bytesOf(shown.export_url)
    const key = rig.chat.exportKey
    const verdict = async (changed: Uint8Array, size?: number) =>
      (await verifyExport(chunksOf(changed, size), key)).problem
    for (const size of [1, 511, 512, 1 << 20]) assert.equal(await verdict(bytes, size), null)
    const said = execFileSync(process.execPath, ['tools/chat-verify.ts', file, '--key', key], { encoding: 'utf8' })
    assert.match(said, /nothing changed, missing or added/)
    assert.match((await verifyExport(chunksOf(bytes), '0'.repeat(64))).problem!, /another key/)
    const random = new Random(3)
    const places = Array.from({ length: 100 }, () => random.below(bytes.length))
    for (let block = 0; block < bytes.length; block += 512) places.push(block, block + 511)
    for (const place of places) {
      const changed = Buffer.from(bytes)
      changed[place]! ^= 1 << random.below(8)
      assert.notEqual(await verdict(changed, 1 << 20), null, `byte ${place}`)
    }
    for (const length of [0, 1, 511, 512, 1024, bytes.length - 1024, bytes.length - 512, bytes.length - 1])
      assert.notEqual(await verdict(bytes.subarray(0, length)), null, `cut to ${length}`)
    assert.notEqual(await verdict(Buffer.concat([bytes, Buffer.from('x')])), null)
    assert.notEqual(await verdict(Buffer.concat([bytes, bytes])), null)
  })
})
