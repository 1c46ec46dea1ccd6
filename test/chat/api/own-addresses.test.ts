/** Requests belong to the organization by the address that clients are told: contract section 1.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { insidePath } from '../../../firmware/chat/render/url.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, cordelia } = await chatSuite({ hamlet: 'member', cordelia: 'member' })

const basic = (email: string, key: string) => `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`

async function request(client: Client, path: string, host: string, init: RequestInit = {}) {
  const headers = { host, authorization: basic(client.user.email, client.key) }
  return rig.chat.api.request(`http://${host}${path}`, { ...init, headers })
}

const told = async (host: string): Promise<string> =>
  // biome-ignore lint/suspicious/noExplicitAny: a member of an answer
  ((await (await request(hamlet, '/api/v1/server_settings', host)).json()) as any).realm_url

async function upload(client: Client): Promise<string> {
  return (await client.upload('POST', '/user_uploads', Buffer.from('words'), {}, 'letter.txt')).body.url
}

async function send(host: string, content: string): Promise<number> {
  const body = new URLSearchParams({ type: 'direct', to: `[${cordelia.user.id}]`, content })
  const response = await request(hamlet, '/api/v1/messages', host, { method: 'POST', body })
  // biome-ignore lint/suspicious/noExplicitAny: a member of an answer
  return ((await response.json()) as any).id
}

const opens = async (path: string) => (await request(cordelia, path, 'chat.example')).status === 200
const html = async (id: number): Promise<string> => (await hamlet.get(`/messages/${id}`)).message.content

describe('Without an address that somebody has set', () => {
  for (const host of ['chat.example', 'chat.example:9443', '127.0.0.1:9443', '[::1]:9443'])
    it(`a file that is sent by the address that is told at ${host} is open to its reader`, async () => {
      const base = await told(host)
      assert.equal(base, `https://${host}`)
      for (const write of [
        (path: string) => `[letter](${base}${path})`,
        ...(host.startsWith('[') ? [] : [(path: string) => `${base}${path}`]), // no bare link of Markdown
        (path: string) => `[letter](${base.toUpperCase().replace('HTTPS', 'https')}${path})`,
      ]) {
        const path = await upload(hamlet)
        assert.equal(await opens(path), false)
        await send(host, write(path))
        assert.equal(await opens(path), true, write(path))
      }
    })

  it('links into the organization become relative, others do not', async () => {
    const base = await told('chat.example:9443')
    assert.match(await html(await send('chat.example:9443', `[here](${base}/#narrow/dm/7)`)), /href="#narrow\/dm\/7"/)
    for (const other of [
      'https://other.example/#narrow/dm/7',
      'https://chat.example/#narrow/dm/7',
      'http://chat.example:9443/#a',
    ])
      assert.ok((await html(await send('chat.example:9443', `[here](${other})`))).includes(`href="${other}"`), other)
  })

  it('files at other hosts are nobody’s, whatever their path', async () => {
    const path = await upload(hamlet)
    await send('chat.example', `[letter](https://other.example${path})`)
    assert.equal(await opens(path), false)
  })

  it('a picture is shown as a picture of the organization, also by its whole address', async () => {
    const { url } = (
      await hamlet.upload(
        'POST',
        '/user_uploads',
        Buffer.from(
          'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
          'base64',
        ),
      )
    ).body
    const whole = await html(await send('chat.example', `![tower](${await told('chat.example')}${url})`))
    assert.match(whole, /data-original-dimensions="1x2"/)
    assert.ok(whole.includes(`src="${url.slice(1)}"`), whole)
  })
})

describe('A bot', () => {
  const withAddress = (email: string, key: string, host: string) =>
    rig.chat.api.request(`http://${host}/api/v1/users/me`, { headers: { host, authorization: basic(email, key) } })

  it('signs in by an address that is made up from the host it asks, and nobody else does', async () => {
    const { user_id, api_key } = await hamlet.post('/bots', { full_name: 'Robot', short_name: 'robot', bot_type: 1 })
    const { user } = await hamlet.get(`/users/${user_id}`)
    assert.equal(user.email, 'robot-bot@coffer.invalid')
    for (const [email, host, status] of [
      ['robot-bot@coffer.invalid', 'chat.example', 200],
      ['robot-bot@chat.example', 'chat.example', 200],
      ['robot-bot@chat.example', 'chat.example:9443', 200],
      ['Robot-Bot@chat.example:9443', 'chat.example:9443', 200],
      ['robot-bot@other.example', 'chat.example', 401],
      ['other-bot@chat.example', 'chat.example', 401],
      ['robot-bot@', 'chat.example', 401],
    ] as const)
      assert.equal((await withAddress(email, api_key, host)).status, status, `${email} at ${host}`)
    const wrong = await withAddress('robot-bot@chat.example', hamlet.key, 'chat.example')
    assert.equal(wrong.status, 401)
    assert.equal((await withAddress('hamlet@chat.example', hamlet.key, 'chat.example')).status, 401)
  })
})

it('an address is inside when its scheme, host and port are the same', () => {
  const CASES: readonly [address: string, realmUrl: string, inside: string | null][] = [
    ['/user_uploads/a', '', 'user_uploads/a'],
    ['#narrow', '', '#narrow'],
    ['https://a.example/x?y#z', 'https://a.example', 'x?y#z'],
    ['https://A.example:443/x', 'https://a.example', 'x'],
    ['https://a.example/x', 'https://a.example:443', 'x'],
    ['//a.example/x', 'https://a.example', 'x'],
    ['https://a.example', 'https://a.example', ''],
    ['http://a.example/x', 'https://a.example', null],
    ['https://a.example:8443/x', 'https://a.example', null],
    ['https://a.example.org/x', 'https://a.example', null],
    ['https://a.example@b.example/x', 'https://a.example', null],
    ['https://a.example/x', '', null],
    ['mailto:a@a.example', 'https://a.example', null],
  ]
  for (const [address, realmUrl, inside] of CASES) assert.equal(insidePath(address, realmUrl), inside, address)
})
