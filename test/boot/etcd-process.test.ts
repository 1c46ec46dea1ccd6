/** The boot manager as a process, with a small firmware in the place of ours that asks for an etcd what it is told to ask. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { chooseFirmwareUser } from '../../boot/host/firmware-user.ts'
import { freePort } from '../../tools/free-ports.ts'
import { buildForTests } from '../support/build.ts'
import { type ClusterCa, createClusterCa } from '../support/cluster-ca.ts'
import { childrenOf, commandLineOf } from '../support/proc.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { fileNeeds } from '../support/tools.ts'
import { smallFirmware } from './small-firmware.ts'

await fileNeeds('etcd', 'openssl')

const ETCD = '/usr/bin/etcd'
const ETCD_ID = 60_702
const DEADLINE_MS = 60_000
const isRoot = process.geteuid!() === 0

/** Does what a file in its store says, and prints what came of it. */
const FIRMWARE = `
  import { readFileSync, rmSync } from 'node:fs'
  import { createEtcdService } from '../cluster/etcd/service.ts'
  import { connectToEtcd } from '../cluster/etcd/etcd.ts'

  let service
  process.on('message', (message) => {
    if (message.type === 'ping') process.send({ type: 'pong' })
    else if (message.type === 'stop') process.exit(0)
    else if (message.type !== 'start') service.receive(message)
    else {
      service = createEtcdService({ socket: message.settings.etcd?.socket, send: process.send })
      service.onRemoved(() => console.log('removed'))
      console.log('asked for nothing')
      setInterval(() => look(message.settings.dataDirectory + '/ask'), 20)
    }
  })
  function look(path) {
    let asked
    try {
      asked = JSON.parse(readFileSync(path))
      rmSync(path)
    } catch { return }
    act(asked).then(
      (answer) => console.log('answer ' + asked.id + ' ' + JSON.stringify(answer ?? null)),
      (error) => console.log('answer ' + asked.id + ' ' + JSON.stringify({ code: error.code, message: error.message })),
    )
  }
  async function act({ what, start }) {
    const etcd = connectToEtcd(service.socket)
    if (what === 'available') return service.available
    if (what === 'run') return service.run({ ...start, tls: { ...start.tls, key: Buffer.from(start.tls.key) } })
    if (what === 'put') return etcd.put('/coffer/x', new Uint8Array([7]))
    if (what === 'get') return [...((await etcd.get('/coffer/x')).entry?.value ?? [])]
    return service[what]()
  }`

let program: string
before(async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-program-'))
  chmodSync(directory, 0o755) // for the firmware's user
  program = join(directory, 'boot.js')
  copyFileSync(await buildForTests(), program)
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  writeFileSync(join(directory, 'firmware.js'), smallFirmware(FIRMWARE))
})
after(() => rmSync(dirname(program), { recursive: true, force: true }))

const settings = { COFFER_ETCD: ETCD }
const start = (t: TestContext, data: string, more: Record<string, string> = settings) =>
  startCoffer(t, { program, data, settings: more })

let asks = 0
async function ask(coffer: Coffer, data: string, what: string, more: object = {}): Promise<unknown> {
  const id = ++asks
  await coffer.firmwarePid()
  writeFileSync(join(data, 'store', 'ask'), JSON.stringify({ id, what, ...more }))
  const [, answer] = await coffer.see(new RegExp(`answer ${id} (.*)`))
  return JSON.parse(answer!)
}

const etcds = (coffer: Coffer): number[] =>
  childrenOf(coffer.bootPid()).filter((pid) => commandLineOf(pid).startsWith(`${ETCD}\0`))

async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + DEADLINE_MS; ; await wait(20)) {
    const value = await probe()
    if (value) return value
    assert.ok(Date.now() < deadline, `no ${what}`)
  }
}

const isAlive = (pid: number): boolean => commandLineOf(pid) !== ''

async function startOf(ca: ClusterCa, how: 'create' | 'run') {
  const { certificate, key } = ca.issue('127.0.0.1')
  const tls = { certificate, key: Buffer.from(key).toString(), authority: ca.certificate }
  const port = await freePort()
  return { how, name: 'a', peerUrl: `https://127.0.0.1:${port}`, members: [], token: 'token', tls }
}

const answers = (coffer: Coffer, data: string) =>
  until('answer of etcd', async () => Array.isArray(await ask(coffer, data, 'get')))

test('without COFFER_ETCD there is none to be asked for', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = start(t, data, {})
  assert.equal(await ask(coffer, data, 'available'), false)
  assert.equal(await ask(coffer, data, 'hasData'), false)
  const refused = await ask(coffer, data, 'run', { start: await startOf(createClusterCa(t), 'create') })
  assert.equal((refused as { code: string }).code, 'invalid')
  assert.equal(existsSync(join(data, 'etcd')), false)
  assert.equal(await coffer.stop(), 0)
})

test('none runs and nothing is made until the firmware asks', async (t) => {
  const data = makeDataDirectory(t)
  const coffer = start(t, data)
  assert.equal(await ask(coffer, data, 'available'), true)
  assert.equal(await ask(coffer, data, 'hasData'), false)
  assert.deepEqual(etcds(coffer), [])
  assert.equal(existsSync(join(data, 'etcd')), false)
  const refused = await ask(coffer, data, 'run', { start: await startOf(createClusterCa(t), 'run') })
  assert.equal((refused as { code: string }).code, 'conflict')
  assert.deepEqual(etcds(coffer), [])
  assert.equal(await coffer.stop(), 0)
})

test('it lives through the end of the firmware and of itself, and ends with the boot manager', async (t) => {
  const ca = createClusterCa(t)
  const created = await startOf(ca, 'create')
  const data = makeDataDirectory(t)
  const coffer = start(t, data)
  assert.equal(await ask(coffer, data, 'run', { start: created }), null)
  assert.equal(await ask(coffer, data, 'put'), null)
  const [first] = etcds(coffer)
  if (isRoot) {
    assert.equal(statSync(`/proc/${first}`).uid, ETCD_ID)
    assert.equal(statSync(join(data, 'etcd', 'data')).mode & 0o777, 0o700)
    assert.equal(statSync(join(data, 'etcd', 'data')).uid, ETCD_ID)
    const status = readFileSync(`/proc/${first}/status`, 'utf8')
    assert.match(status, /^NoNewPrivs:\s*1$/m)
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd']) assert.match(status, new RegExp(`^${set}:\\s*0+$`, 'm'))
  }

  process.kill(await coffer.firmwarePid(), 'SIGKILL')
  await coffer.see(/The firmware ended with SIGKILL/)
  await coffer.see(/asked for nothing/)
  assert.deepEqual(etcds(coffer), [first])
  assert.equal(await ask(coffer, data, 'run', { start: { ...created, how: 'run' } }), null)
  assert.deepEqual(etcds(coffer), [first])
  assert.deepEqual(await ask(coffer, data, 'get'), [7])

  process.kill(first!, 'SIGKILL')
  await coffer.see(/The cluster's etcd ended with SIGKILL\. It is started again in 0\.5 s\./)
  const second = await until('etcd', () => etcds(coffer)[0])
  await answers(coffer, data)
  assert.deepEqual(await ask(coffer, data, 'get'), [7])
  assert.equal(await coffer.stop(), 0)
  assert.equal(isAlive(second), false)

  const again = start(t, data)
  await ask(again, data, 'available')
  assert.deepEqual(etcds(again), [])
  assert.equal(await ask(again, data, 'run', { start: { ...created, how: 'run' } }), null)
  await answers(again, data)
  assert.deepEqual(await ask(again, data, 'get'), [7])
  const warnings = (await ask(again, data, 'warnings')) as string[]
  assert.ok(warnings.every((line) => / etcd: |The cluster's etcd/.test(line)))
  assert.equal(await ask(again, data, 'erase'), null)
  assert.equal(existsSync(join(data, 'etcd')), false)
  assert.equal(await again.stop(), 0)
})

test('it does not outlive a boot manager that is killed, and the next one takes over', async (t) => {
  const ca = createClusterCa(t)
  const created = await startOf(ca, 'create')
  const data = makeDataDirectory(t)
  const first = start(t, data)
  assert.equal(await ask(first, data, 'run', { start: created }), null)
  assert.equal(await ask(first, data, 'put'), null)
  const [etcd] = etcds(first)
  await first.kill()
  await until('end of etcd', () => !isAlive(etcd!))
  assert.ok(existsSync(join(data, 'etcd', 'etcd:0'))) // left behind
  const second = start(t, data)
  assert.equal(await ask(second, data, 'run', { start: { ...created, how: 'run' } }), null)
  await answers(second, data)
  assert.deepEqual(await ask(second, data, 'get'), [7])
  assert.equal(await second.stop(), 0)
})

test('it does not start where the boot manager has ended before it could be told of that', (t) => {
  const directory = makeDataDirectory(t)
  const place = { directory, storeDirectory: join(directory, 'store'), files: [], ports: [], chatPort: 0 }
  const { etcd } = chooseFirmwareUser(place, () => {})
  const command = [...etcd!.launcher, '/bin/echo', 'it runs']
  const run = (through: readonly string[]): string => {
    const [file, ...parameters] = [...through, ...command]
    return spawnSync(file!, parameters, { encoding: 'utf8' }).stdout
  }
  assert.equal(run([]), 'it runs\n')
  assert.equal(run(['/bin/sh', '-c', '"$@"; exit', 'another parent']), '')
})

for (const [what, path] of [
  ['is not there', '/nowhere/etcd'],
  ['is a directory', '/usr/bin'],
] as const)
  test(`a program of etcd that ${what} is refused in one line`, async (t) => {
    const coffer = start(t, makeDataDirectory(t), { COFFER_ETCD: path })
    assert.equal(await coffer.ended, 1)
    assert.equal(coffer.output(), `Coffer does not start: COFFER_ETCD is ${path}, which is no program.\n`)
  })
