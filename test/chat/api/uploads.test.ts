/** Uploaded files: rows E130 to E133, event V2, media paths; contract 1.2, 2.5, 3.9, 6.4. */

import assert from 'node:assert/strict'
import { describe, it, mock } from 'node:test'
import { CofferError } from '../../../firmware/base/error.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, cordelia, polonius } = await chatSuite({ hamlet: 'member', cordelia: 'member', polonius: 'guest' })
for (const [name, invite_only] of [
  ['Verona', false],
  ['secrets', true],
] as const)
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name }], invite_only })

const authorization = ({ user, key }: Client) => `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`

interface Uploaded {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: members of any answer
  body: any
}

async function upload(client: Client, name: string, content: Uint8Array | string): Promise<Uploaded> {
  const form = new FormData()
  form.append('any-name', new Blob([typeof content === 'string' ? content : Uint8Array.from(content)]), name)
  const response = await rig.chat.api.request('http://chat.example/api/v1/user_uploads', {
    method: 'POST',
    headers: { authorization: authorization(client) },
    body: form,
  })
  return { status: response.status, body: await response.json() }
}

async function fetchFile(client: Client | null, url: string, headers: Record<string, string> = {}) {
  const own = client === null ? {} : { authorization: authorization(client) }
  const response = await rig.chat.api.request(`http://chat.example${url}`, { headers: { ...own, ...headers } })
  return { status: response.status, headers: response.headers, bytes: new Uint8Array(await response.arrayBuffer()) }
}

/** Seconds. */
const now = () => Math.floor(rig.now() / 1000)

const pattern = (bytes: number): Uint8Array =>
  Uint8Array.from({ length: bytes }, (_, at) => (at * 31 + (at >> 8)) & 255)
const path = (url: string) => url.replace('/user_uploads/', '')

/** 1 pixel wide, 2 high. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
  'base64',
)

describe('Uploading (E130)', () => {
  it('lists the newest hundred messages that show a file, and opens it for readers of any of them', async () => {
    const ophelia = rig.account('ophelia')
    const { url } = (await upload(hamlet, 'letter.txt', 'words')).body
    const content = `[letter](${url}) and again [letter](${url})`
    const say = async (values: object): Promise<number> => (await hamlet.post('/messages', { content, ...values })).id
    const opens = async (client: Client) => (await fetchFile(client, url)).status === 200
    await say({ type: 'direct', to: [cordelia.user.id] })
    const closet = rig.channel('closet', [rig.owner, hamlet, polonius], {
      isPrivate: true,
      historyPublicToSubscribers: false,
    })
    await say({ type: 'channel', to: closet.id, topic: 'x' })
    await rig.owner.post('/users/me/subscriptions', {
      subscriptions: [{ name: 'closet' }],
      principals: [ophelia.user.id],
    })
    const ids: number[] = []
    for (let count = 0; count < 101; count++) ids.push(await say({ type: 'direct', to: [hamlet.user.id] }))
    const [listed] = (await hamlet.get('/attachments')).attachments
    assert.deepEqual(
      listed.messages.map(({ id }: { id: number }) => id),
      ids.slice(1),
    )
    assert.deepEqual([await opens(cordelia), await opens(polonius), await opens(ophelia)], [true, true, false])
    await say({ type: 'channel', to: closet.id, topic: 'x' })
    assert.equal(await opens(ophelia), true)
  })

  it('answers the path under which the same bytes come back, of any size', async () => {
    for (const size of [0, 1, 65_535, 65_536, 65_537, 1_048_576, 3_000_001]) {
      const bytes = pattern(size)
      const { status, body } = await upload(hamlet, `file ${size}.bin`, bytes)
      assert.equal(status, 200, JSON.stringify(body))
      assert.match(body.url, /^\/user_uploads\/2\/[0-9a-f]{2}\/[\w-]{24}\/file-\d+\.bin$/)
      assert.deepEqual([body.uri, body.filename], [body.url, `file ${size}.bin`])
      const found = await fetchFile(hamlet, body.url)
      assert.equal(found.status, 200)
      assert.equal(found.headers.get('content-length'), String(size))
      assert.ok(Buffer.from(found.bytes).equals(bytes), `${size} bytes`)
    }
  })

  it('is told to its owner alone, and listed (E132, V2)', async () => {
    const mine = await cordelia.register({ event_types: ['attachment'] })
    const others = await hamlet.register({ event_types: ['attachment'] })
    const { body } = await upload(cordelia, 'picture.png', PNG)
    const { attachments, upload_space_used } = await cordelia.get('/attachments')
    assert.deepEqual(attachments, [
      {
        id: attachments[0].id,
        name: 'picture.png',
        path_id: path(body.url),
        size: PNG.length,
        create_time: now(),
        messages: [],
        message_ids: [],
      },
    ])
    const [{ id: _, ...event }, ...rest] = await mine.events()
    assert.deepEqual(event, { type: 'attachment', op: 'add', attachment: attachments[0], upload_space_used })
    assert.deepEqual([rest, await others.events()], [[], []])
  })

  it('needs a file, and one of at most 100 MiB', async () => {
    await hamlet.refused('BAD_REQUEST', 'POST', '/user_uploads')
    const before = (await hamlet.get('/attachments')).upload_space_used
    const response = await rig.chat.api.request('http://chat.example/api/v1/user_uploads', {
      method: 'POST',
      headers: {
        authorization: authorization(hamlet),
        'content-type': 'multipart/form-data; boundary=b',
        'content-length': String(102 * 1_048_576),
      },
      body: endless('--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n', 1),
      duplex: 'half',
    } as RequestInit)
    assert.equal(response.status, 413)
    assert.equal((await hamlet.get('/attachments')).upload_space_used, before)
    assert.deepEqual(orphans(), [])
  })

  it('leaves nothing behind when it breaks off', async () => {
    const body = endless('--b\r\ncontent-disposition: form-data; name="f"; filename="f"\r\n\r\n', 3)
    const response = await rig.chat.api.request('http://chat.example/api/v1/user_uploads', {
      method: 'POST',
      headers: { authorization: authorization(hamlet), 'content-type': 'multipart/form-data; boundary=b' },
      body, // it ends without its last delimiter
      duplex: 'half',
    } as RequestInit)
    assert.equal(response.status, 400)
    assert.deepEqual(orphans(), [])
  })

  it('has its share of what may come at once back when the disk refuses', async () => {
    const full = mock.method(rig.chat.realm, 'transaction', () => {
      throw new CofferError('storage', 'No space left')
    })
    for (let i = 0; i < 10; i++) assert.equal((await upload(hamlet, 'full', 'x')).status, 500, `${i}`)
    full.mock.restore()
    assert.equal((await upload(hamlet, 'well', 'x')).status, 200)
  })

  it('ends at the quota that the operator has set', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    const used = (await rig.owner.get('/attachments')).upload_space_used
    const uploadQuotaMib = Math.ceil(used / 1_048_576) + 1
    const operator = { ...organization.operator, uploadQuotaMib }
    realm.transaction((turn) => turn.put('organization', { ...organization, operator }))
    try {
      const { status, body } = await upload(rig.owner, 'large', pattern(2 * 1_048_576))
      assert.deepEqual([status, body.code], [400, 'REALM_UPLOAD_QUOTA'])
      assert.equal((await rig.owner.get('/attachments')).upload_space_used, used)
      assert.equal((await upload(rig.owner, 'small', 'x')).status, 200)
    } finally {
      realm.transaction((turn) => turn.put('organization', organization))
    }
    assert.deepEqual(orphans(), [])
  })
})

const orphans = () => {
  const { files, uploads } = rig.chat.realm.store
  return files.all().filter((id) => uploads.get(id) === undefined)
}

function endless(head: string, mebibytes: number): ReadableStream<Uint8Array> {
  let left = mebibytes
  const block = new Uint8Array(1_048_576).fill(120)
  return new ReadableStream({
    start: (controller) => controller.enqueue(Buffer.from(head)),
    pull(controller) {
      if (left-- > 0) controller.enqueue(block.slice())
      else controller.close()
    },
  })
}

describe('A file', () => {
  it('can be read by its owner until a message shows it, then by readers of that message', async () => {
    const { body } = await upload(hamlet, 'plan.txt', 'the plan')
    const statusFor = async (client: Client | null) => (await fetchFile(client, body.url)).status
    assert.deepEqual([await statusFor(hamlet), await statusFor(cordelia), await statusFor(null)], [200, 404, 404])
    const content = `see [plan](${body.url})`
    const { id } = await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content })
    assert.deepEqual([await statusFor(cordelia), await statusFor(polonius)], [200, 404])
    await hamlet.post('/messages', { type: 'stream', to: 'secrets', topic: 't', content })
    assert.deepEqual([await statusFor(rig.owner), await statusFor(polonius)], [404, 404])
    await hamlet.post('/messages', { type: 'stream', to: 'Verona', topic: 't', content })
    assert.deepEqual([await statusFor(rig.owner), await statusFor(polonius)], [200, 404])
    const { attachments } = await hamlet.get('/attachments')
    const own = attachments.find(({ path_id }: { path_id: string }) => path_id === path(body.url))
    assert.deepEqual([own.messages.length, own.messages[0]], [3, { id, date_sent: now() }])
  })

  it('that is unknown is as one that is not to be read (E131)', async () => {
    const { body } = await upload(hamlet, 'x', 'x')
    const unknown = body.url.replace(/[\w-]{24}/, 'a'.repeat(24))
    const hidden = await fetchFile(cordelia, body.url)
    const absent = await fetchFile(cordelia, unknown)
    assert.deepEqual(
      [hidden.status, Buffer.from(hidden.bytes).toString()],
      [absent.status, Buffer.from(absent.bytes).toString()],
    )
    for (const strange of ['/user_uploads/2/ab/x', '/user_uploads/2/ab/%2e%2e/%2e%2e/x', '/user_uploads/']) {
      assert.equal((await fetchFile(hamlet, strange)).status, 404)
    }
  })

  it('has a URL that serves it to anybody for a minute (E131)', async () => {
    const { body } = await upload(hamlet, 'été (1).png', PNG)
    const ask = (client: Client, url: string) =>
      rig.chat.api.request(`http://chat.example/api/v1${url}`, { headers: { authorization: authorization(client) } })
    const { url } = (await (await ask(hamlet, encodeURI(body.url))).json()) as { url: string }
    const [realm, ...name] = path(body.url).split('/')
    const escaped = await ask(hamlet, `/user_uploads/${realm}/${encodeURIComponent(name.join('/'))}`)
    assert.deepEqual(
      await escaped.json(),
      { result: 'success', msg: '', url },
      'of a client that takes the rest for a name',
    )
    const served = await fetchFile(null, url)
    assert.equal(served.status, 200)
    assert.ok(Buffer.from(served.bytes).equals(PNG))
    assert.equal(served.headers.get('content-type'), 'image/png')
    assert.equal((await fetchFile(null, url.replace(/temporary\/\d/, 'temporary/9'))).status, 404)
    rig.advance(61)
    assert.equal((await fetchFile(null, url)).status, 404)
    assert.equal((await ask(cordelia, encodeURI(body.url))).status, 404)
  })

  it('is sent in a range, as a download, and never as a page of ours', async () => {
    const bytes = pattern(200_000)
    const { body } = await upload(hamlet, 'page.html', bytes)
    const part = await fetchFile(hamlet, body.url, { range: 'bytes=65530-131079' })
    assert.equal(part.status, 206)
    assert.equal(part.headers.get('content-range'), 'bytes 65530-131079/200000')
    assert.ok(Buffer.from(part.bytes).equals(bytes.subarray(65_530, 131_080)))
    const head = await rig.chat.api.request(`http://chat.example${body.url}`, {
      method: 'HEAD',
      headers: { authorization: authorization(hamlet), range: 'bytes=0-9' },
    })
    assert.deepEqual([head.status, head.headers.get('content-length'), await head.text()], [200, '200000', ''])
    const behind = await fetchFile(hamlet, body.url, { range: 'bytes=200000-' })
    assert.deepEqual([behind.status, behind.headers.get('content-range')], [416, 'bytes */200000'])
    assert.match(part.headers.get('content-disposition')!, /^attachment/)
    assert.match(part.headers.get('content-security-policy')!, /sandbox/)
    const picture = (await upload(hamlet, 'a.png', PNG)).body.url
    assert.match((await fetchFile(hamlet, picture)).headers.get('content-disposition')!, /^inline/)
    const download = picture.replace('/user_uploads/', '/user_uploads/download/')
    assert.match((await fetchFile(hamlet, download)).headers.get('content-disposition')!, /^attachment/)
  })

  it('is shown by the message that links it, which then has an attachment', async () => {
    const { body } = await upload(hamlet, 'a.png', PNG)
    const { id } = await hamlet.post('/messages', {
      type: 'stream',
      to: 'Verona',
      topic: 'p',
      content: `[a](${body.url})`,
    })
    const fetched = await hamlet.get('/messages', { message_ids: [id], narrow: [['has', 'attachment']] })
    assert.equal(fetched.messages.length, 1)
    assert.match(fetched.messages[0].content, /data-original-dimensions="1x2"/)
  })

  it('of somebody else is not shown by a message whose author cannot read it', async () => {
    const { body } = await upload(hamlet, 'own.txt', 'x')
    await cordelia.post('/users/me/subscriptions', { subscriptions: [{ name: 'Verona' }] })
    const { id } = await cordelia.post('/messages', {
      type: 'stream',
      to: 'Verona',
      topic: 'p',
      content: `[a](${body.url})`,
    })
    assert.equal((await fetchFile(cordelia, body.url)).status, 404)
    const fetched = await cordelia.get('/messages', { message_ids: [id], narrow: [['has', 'attachment']] })
    assert.deepEqual(fetched.messages, [])
  })

  it('is not offered for deletion while a scheduled message of its owner links it', async () => {
    const { body } = await upload(hamlet, 'later.txt', 'x')
    const content = `[a](${body.url})`
    const { id } = await hamlet.post('/messages', { type: 'stream', to: 'Verona', topic: 'p', content })
    const scheduled_delivery_timestamp = Math.floor(rig.now() / 1000) + 100
    await hamlet.post('/scheduled_messages', {
      ...{ type: 'direct', to: [hamlet.user.id], content, scheduled_delivery_timestamp },
    })
    assert.deepEqual((await hamlet.patch(`/messages/${id}`, { content: 'nothing' })).detached_uploads, [])
  })

  it('comes loose from a message that is edited or deleted, which tells its owner (E12, E13, V2)', async () => {
    const { body } = await upload(hamlet, 'loose.txt', 'x')
    const content = `[a](${body.url})`
    const first = await hamlet.post('/messages', { type: 'stream', to: 'Verona', topic: 'p', content })
    const second = await hamlet.post('/messages', { type: 'stream', to: 'Verona', topic: 'p', content })
    const queue = await hamlet.register({ event_types: ['attachment'] })
    const kept = await hamlet.patch(`/messages/${first.id}`, { content: 'nothing' })
    assert.deepEqual(kept.detached_uploads, [])
    const { detached_uploads } = await hamlet.patch(`/messages/${second.id}`, { content: 'nothing' })
    assert.deepEqual(
      detached_uploads.map(({ path_id, messages }: { path_id: string; messages: unknown[] }) => [path_id, messages]),
      [[path(body.url), []]],
    )
    const third = await hamlet.post('/messages', { type: 'stream', to: 'Verona', topic: 'p', content })
    await rig.owner.delete(`/messages/${third.id}`)
    const events = await queue.events()
    assert.deepEqual(
      events.map(({ op, attachment }) => [op, attachment.messages.length]),
      [
        ['update', 1],
        ['update', 0],
        ['update', 1],
        ['update', 0],
      ],
    )
  })

  it('is deleted by its owner alone, bytes and all (E133)', async () => {
    const { body } = await upload(hamlet, 'gone.bin', pattern(2_500_000))
    const { attachments, upload_space_used } = await hamlet.get('/attachments')
    const { id } = attachments.find(({ path_id }: { path_id: string }) => path_id === path(body.url))
    await cordelia.refused('BAD_REQUEST', 'DELETE', `/attachments/${id}`)
    const queue = await hamlet.register({ event_types: ['attachment'] })
    await hamlet.delete(`/attachments/${id}`)
    const [{ id: _, ...event }] = await queue.events()
    assert.deepEqual(event, {
      type: 'attachment',
      op: 'remove',
      attachment: { id },
      upload_space_used: upload_space_used - 2_500_000,
    })
    assert.equal((await fetchFile(hamlet, body.url)).status, 404)
    assert.equal(rig.chat.realm.store.files.read(id, 0), undefined)
    assert.deepEqual(orphans(), [])
    await hamlet.refused('BAD_REQUEST', 'DELETE', `/attachments/${id}`)
  })

  it('survives a restart, and what was not whole does not', async () => {
    const bytes = pattern(100_000)
    const { body } = await upload(hamlet, 'kept.bin', bytes)
    rig.chat.realm.store.files.write(999_999, 0, [pattern(10)])
    rig.reopen()
    assert.ok(Buffer.from((await fetchFile(hamlet, body.url)).bytes).equals(bytes))
    assert.deepEqual(orphans(), [])
  })
})
