/** Notifications of a chat process that an attacker controls: the appliance decides about hosts and headers. Contract section 3.8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createChatOutgoing } from '../../../firmware/chat/host/outgoing.ts'
import { type OutgoingRequest, readFromChat } from '../../../firmware/chat/link/link.ts'
import { pushHostOf } from '../../../firmware/chat/link/web-push.ts'
import type { DeviceRecords } from '../../../firmware/configuration/device-records.ts'
import type { OutgoingClient } from '../../../firmware/outgoing/client.ts'
import { expectListed } from '../../../firmware/outgoing/hosts.ts'
import { CHAT_HOSTS, CHAT_WEB_PUSH } from '../../../firmware/store/device-area.ts'

const KEY = `B${'a'.repeat(86)}`
const PUSH = { authorization: `vapid t=a.b.c, k=${KEY}`, topic: 'a-topic_1' }
const REQUEST: OutgoingRequest = {
  url: 'https://push.example.org/x',
  contentType: 'application/octet-stream',
  body: new Uint8Array(2150),
  push: PUSH,
}

test('only a token and a topic in their form are read', () => {
  const read = (push: unknown) => readFromChat({ type: 'request', id: 1, request: { ...REQUEST, push } })
  assert.deepEqual(read(PUSH), { type: 'request', id: 1, request: REQUEST })
  for (const push of [
    ...[null, 1, 'x', {}, { topic: 'a' }, { authorization: PUSH.authorization }],
    ...['', 'x'.repeat(33), 'a b', 'a\r\nx: y', 'ä', 1].map((topic) => ({ ...PUSH, topic })),
    ...[
      '',
      'Basic abc',
      `vapid t=a, k=${KEY}\r\nx: y`,
      `vapid t=${'a'.repeat(1501)}, k=${KEY}`,
      `x vapid t=a, k=${KEY}`,
    ].map((authorization) => ({ ...PUSH, authorization })),
  ])
    assert.equal(read(push), null, JSON.stringify(push))
})

test('a notification goes to a listed push service, a webhook to a listed host, and neither to that of the other', async () => {
  const stored = new Map([
    [CHAT_HOSTS, '["hooks.example.org"]'],
    [CHAT_WEB_PUSH, '{"hosts":["push.example.org","*.notify.example.org"],"contact":"mailto:a@b.c","content":false}'],
  ])
  const area = { get: (name: string) => (stored.has(name) ? Buffer.from(stored.get(name)!) : null) }
  const records = { read: (_: string, read: (of: object) => unknown) => read(area) } as unknown as DeviceRecords
  const sent: { url: string; headers: Readonly<Record<string, string>> }[] = []
  const http: OutgoingClient['http'] = async ({ url, headers }, { hosts }) => {
    sent.push({ url: expectListed(url, hosts), headers })
    return { status: 201, headers: { 'retry-after': '7' }, body: new Uint8Array(9) }
  }
  const outgoing = createChatOutgoing(records, { http } as OutgoingClient)
  const perform = (request: Partial<OutgoingRequest>) =>
    outgoing.perform({ ...REQUEST, ...request }, new AbortController().signal)
  const refused = { problem: 'the administrator of the server has not listed its host', isFinal: true }
  const { push: _, ...webhook } = REQUEST

  assert.deepEqual(await perform({}), { status: 201, body: new Uint8Array(0), retryAfterS: 7 })
  assert.deepEqual(sent[0]!.headers, {
    ...{ 'content-type': 'application/octet-stream', 'content-encoding': 'aes128gcm', ttl: '86400', urgency: 'high' },
    ...PUSH,
  })
  assert.ok('status' in (await perform({ url: 'https://a.b.notify.example.org/' })))
  for (const url of [
    ...[
      'http://push.example.org/x',
      'https://hooks.example.org/x',
      'https://notify.example.org/',
      'https://push.example.org:444/',
    ],
    ...['https://xpush.example.org/', 'https://push.example.org.evil.test/', 'https://a.notify.example.org:8443/', 'x'],
  ])
    assert.deepEqual(await perform({ url }), refused, url)
  assert.equal(sent.length, 2)
  assert.deepEqual(await outgoing.perform(webhook, new AbortController().signal), refused)
  const hook = { ...webhook, url: 'https://hooks.example.org/' }
  assert.ok('status' in (await outgoing.perform(hook, new AbortController().signal)))
  stored.set(CHAT_WEB_PUSH, 'null')
  assert.equal(outgoing.webPush, null)
  assert.deepEqual(await perform({}), refused)
  stored.delete(CHAT_WEB_PUSH) // of a version without it
  assert.equal(outgoing.webPush, null)
})

test('a domain with an asterisk means the hosts below it', () => {
  const hosts = ['*.example.org', 'push.example.net:8443']
  const host = (url: string) => pushHostOf(url, hosts)
  assert.equal(host('https://a.example.org/x'), 'a.example.org')
  assert.equal(host('https://push.example.net:8443/'), 'push.example.net:8443')
  for (const url of [
    'https://example.org/',
    'https://aexample.org/',
    'https://push.example.net/',
    'https://a.example.org./',
    '',
  ])
    assert.equal(host(url), null, url)
})
