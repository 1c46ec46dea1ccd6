import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'
import { createEtcdKeeper } from '../../boot/etcd/etcd.ts'
import { createEtcdLines } from '../../boot/etcd/lines.ts'
import { etcdParameters, listenUrlAt, quotaFor, readVersion } from '../../boot/etcd/parameters.ts'
import { createRunner } from '../../boot/etcd/runner.ts'
import { createFrameReader, encodeFrame } from '../../firmware/channel/frames.ts'
import type { ToFirmware } from '../../firmware/channel/protocol.ts'

const read = (line: string): string => createEtcdLines(() => 0)([line]).join('\n')

test('lines of etcd become lines like ours', () => {
  assert.equal(
    read('{"level":"warn","ts":"2026-11-24T16:00:00Z","caller":"x/y.go:7","msg":"slow","took":"2s","of":3}'),
    'warning etcd: slow (took: 2s, of: 3)',
  )
  assert.equal(read('{"level":"fatal","msg":"no","stacktrace":"main.go"}'), 'error   etcd: no')
  assert.equal(read('panic: at the disk'), 'warning etcd: panic: at the disk')
  assert.equal(read('[1,2]').startsWith('error   etcd: '), true)
})

test('whatever it writes is one line of a bounded length', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.json(), fc.constant('x'.repeat(9000))), (line) => {
      const told = read(line)
      assert.ok(told.length < 1100 && /^(warning|error {2}|info {3}|debug {2}) etcd: /.test(told), told)
    }),
  )
})

test('no JSON that it writes ends us, or moves the cursor', () => {
  const nested = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
  assert.equal(read('{"level":"constructor","msg":"x"}'), 'error   etcd: x')
  assert.equal(
    read('{"level":"__proto__","msg":{"toString":0,"valueOf":0}}'),
    'error   etcd: {"toString":0,"valueOf":0}',
  )
  assert.match(read(`{"level":"warn","msg":${nested}}`), /^warning etcd: /)
  assert.match(read(`{"level":"warn","msg":"x","more":${nested}}`), /^warning etcd: /)
  const escapes = '{"level":"warn","msg":"\\u001b[2J","\\n":"\\r\\u009b1A"}'
  assert.equal(read(escapes), 'warning etcd: ·[2J (·: ··1A)')
})

test('of many lines only so many are passed on, and the rest is counted', () => {
  let nowMs = 0
  const take = createEtcdLines(() => nowMs)
  assert.equal(take(Array(150).fill('a')).length, 100)
  nowMs = 1000
  assert.deepEqual(take(['b']), ['warning etcd: 50 lines were left out here', 'warning etcd: b'])
})

function makeWriter(t: TestContext, text: string) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-etcd-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const program = join(directory, 'etcd')
  writeFileSync(join(directory, 'text'), text)
  const script = `#!/bin/sh
    [ "$1" = --version ] && echo 'etcd Version: 3.5.16' && exit
    cat '${directory}/text' >&2
    exec sleep 60`
  writeFileSync(program, script, { mode: 0o755 })
  return createRunner({
    program,
    launcher: [],
    directory: join(directory, 'own'),
    listenUrl: (peerUrl) => peerUrl,
    users: { etcdId: null, firmwareId: null },
    secretDirectory: directory,
  })
}

test('the longest burst of lines, of characters that take most room, reaches the firmware', async (t) => {
  const told: string[] = []
  const reader = createFrameReader()
  const send = (message: ToFirmware) => {
    for (const read of reader.push(encodeFrame(message)) as ToFirmware[])
      if (read.type === 'etcdLines') told.push(...read.lines)
  }
  const runner = makeWriter(t, `${'"'.repeat(1000)}\n`.repeat(100))
  const keeper = createEtcdKeeper({ runner, lock: null, send, onLines: () => {} })
  t.after(() => keeper.stop())
  const start = {
    how: 'create',
    name: 'a',
    peerUrl: 'https://10.0.0.1:2380',
    members: [],
    token: 't',
    tls: null,
  } as const
  keeper.take({ do: 'run', start })
  for (const deadline = Date.now() + 30_000; told.length < 100; await wait(20)) assert.ok(Date.now() < deadline)
  assert.deepEqual(new Set(told), new Set([`warning etcd: ${'"'.repeat(1000)}`]))
})

test('each version is told what it knows', () => {
  const launch = {
    how: 'create',
    name: 'a',
    peerUrl: 'https://10.0.0.1:2380',
    members: [],
    token: 't',
    tls: null,
  } as const
  const catchup = (printed: string) =>
    etcdParameters(launch, launch.peerUrl, readVersion(printed)!, quotaFor(0)).filter((parameter) =>
      parameter.includes('catchup'),
    )
  assert.deepEqual(catchup('etcd Version: 3.4.23\nGit SHA: x'), [])
  assert.deepEqual(catchup('etcd Version: 3.5.16\n'), ['--experimental-snapshot-catchup-entries=500'])
  assert.deepEqual(catchup('etcd Version: 3.6.1\n'), ['--snapshot-catchup-entries=500'])
  assert.equal(readVersion('another program'), null)
})

test('its database is full before the disk is, which also holds its log, a copy of it and the store', () => {
  const GIB = 1024 ** 3
  assert.equal(quotaFor(GIB / 2), GIB / 16)
  assert.equal(quotaFor(4 * GIB), 0.9375 * GIB)
  assert.equal(quotaFor(100 * GIB), 2 * GIB)
  for (const disk of [GIB / 2, GIB, 2 * GIB, 8 * GIB]) assert.ok(3 * quotaFor(disk) + GIB / 4 < disk)
})

test('it listens where the firmware does, with the port of its address', () => {
  assert.equal(listenUrlAt('127.0.0.2', 'https://10.0.0.1:2380'), 'https://127.0.0.2:2380')
  assert.equal(listenUrlAt('localhost', 'https://[fe80::1]:2380'), 'https://127.0.0.1:2380')
  assert.equal(listenUrlAt('::', 'https://10.0.0.1:2380'), 'https://[::]:2380')
})
