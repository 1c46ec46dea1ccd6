/** A program in place of etcd: its answers are not trusted, and it cannot fill the memory. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import { EtcdError } from '../../../firmware/cluster/etcd/error.ts'
import { connectToEtcd, type Etcd } from '../../../firmware/cluster/etcd/etcd.ts'

const MEGABYTE = 'x'.repeat(1024 * 1024)

async function answering(t: TestContext, answer: (response: ServerResponse) => void): Promise<Etcd> {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-gateway-'))
  const socket = join(directory, 'socket')
  const server = createServer((_, response) => answer(response))
  server.listen(socket)
  await once(server, 'listening')
  const etcd = connectToEtcd(socket)
  t.after(() => {
    etcd.close()
    server.closeAllConnections()
    server.close()
    rmSync(directory, { recursive: true, force: true })
  })
  return etcd
}

const codeOf = (failing: Promise<unknown>): Promise<string> =>
  failing.then(
    () => 'answered',
    (error) => (error instanceof EtcdError ? error.code : String(error)),
  )

const watchOf = (etcd: Etcd): Promise<unknown> => etcd.watch('/coffer/', 1, new AbortController().signal).next()

const header = { cluster_id: '1', member_id: '2', revision: '3' }
const entry = { key: 'AA==', value: 'AA==', mod_revision: '3' }

test('an answer that is none of etcd is malformed', async (t) => {
  let text = ''
  const etcd = await answering(t, (response) => response.end(text))
  for (const answer of [
    '',
    'Not Found',
    '{',
    '[]',
    'null',
    '{}',
    '{"header":{"revision":3}}',
    '{"header":{"revision":"-3"}}',
    '{"header":{"revision":"9007199254740992"}}',
    '{"header":{"member_id":"ab"}}',
    JSON.stringify({ header, kvs: {} }),
    JSON.stringify({ header, kvs: [{ ...entry, value: 'A' }] }),
    JSON.stringify({ header, kvs: [{ ...entry, key: '?' }] }),
    JSON.stringify({ header, kvs: [{ ...entry, mod_revision: '1e3' }] }),
    JSON.stringify({ header, kvs: Array(9).fill(null) }),
  ]) {
    text = answer
    assert.equal(await codeOf(etcd.get('/coffer/head')), 'malformed', answer)
  }
  text = JSON.stringify({ header, kvs: [entry], more: false, unknown: [1] })
  const { clusterId, memberId, revision } = await etcd.get('/coffer/head')
  assert.deepEqual([clusterId, memberId, revision], ['1', '2', 3], 'what newer ones add is left alone')
})

test('a message of a watch that is none of etcd is malformed; an error in its place, or its end, is unavailable', async (t) => {
  let text = ''
  const etcd = await answering(t, (response) => response.end(text))
  for (const [line, code] of [
    ['x\n', 'malformed'],
    ['{}\n', 'malformed'],
    ['{"result":{"header":{},"events":[{"type":"OTHER"}]}}\n', 'malformed'],
    ['{"error":{"grpc_code":14,"message":"no leader"}}\n', 'unavailable'],
    ['{"error":{"code":14,"message":"no leader"}}\n', 'unavailable'],
    ['{"error":{"grpc_code":11,"message":"mvcc: required revision has been compacted"}}\n', 'compacted'],
    [`${JSON.stringify({ result: { header, canceled: true, cancel_reason: 'no' } })}\n`, 'unavailable'],
    ['', 'unavailable'],
    [`${JSON.stringify({ result: { header, created: true } })}\n`, 'unavailable'],
    [JSON.stringify({ result: { header, events: [{ kv: entry }] } }), 'unavailable'],
  ] as const) {
    text = line
    assert.equal(await codeOf(watchOf(etcd)), code, line)
  }
})

test('a revision that comes in fragments is given once it is whole', async (t) => {
  const event = (key: string, revision: number) => ({ kv: { key: btoa(key), mod_revision: String(revision) } })
  const lines = [
    { header, fragment: true, events: [event('a', 7), event('a', 8)] },
    { header, fragment: true, events: [event('b', 8)] },
    { header, events: [event('c', 8), event('a', 9)] },
    { header, events: [event('a', 10)] },
  ].map((result) => `${JSON.stringify({ result })}\n`)
  const etcd = await answering(t, (response) => response.end(lines.join('')))
  const seen: string[] = []
  await assert.rejects(async () => {
    for await (const { revision, writes } of etcd.watch('/coffer/', 1, new AbortController().signal))
      seen.push(`${revision} ${writes.map(({ key }) => key).join('')}`)
  })
  assert.deepEqual(seen, ['7 a', '8 abc', '9 a', '10 a'])
})

test('an answer or a message without end is too large, and its connection is ended', async (t) => {
  const open = new Set<ServerResponse>()
  const etcd = await answering(t, (response) => {
    open.add(response)
    response.on('close', () => open.delete(response))
    const pour = (): void => {
      while (!response.destroyed && response.write(MEGABYTE));
    }
    response.on('drain', pour)
    pour()
  })
  assert.equal(await codeOf(etcd.get('/coffer/head')), 'tooLarge')
  assert.equal(await codeOf(watchOf(etcd)), 'tooLarge')
  while (open.size > 0) await new Promise(setImmediate)
})

test('who says nothing, or stops in the middle, is unavailable after the time that a call was given', async (t) => {
  let begins = false
  const etcd = await answering(t, (response) => {
    if (begins) response.write('{"header":')
  })
  assert.equal(await codeOf(etcd.get('/coffer/head', { timeoutMs: 50 })), 'unavailable')
  begins = true
  assert.equal(await codeOf(etcd.get('/coffer/head', { timeoutMs: 50 })), 'unavailable')
})
