// @test long 200
/** Updates and the rest of /system as an administrator sees them: tools, HTTPS, and the host's slots. */

import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Duplex } from 'node:stream'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { CHANNEL_DESCRIPTOR, openChannel } from '../../firmware/channel/channel.ts'
import type { ToFirmware } from '../../firmware/channel/protocol.ts'
import { readMessage } from '../../firmware/channel/to-boot.ts'
import { smallFirmware } from '../boot/small-firmware.ts'
import { mark, markOf } from '../chat/support/backups.ts'
import { keyOf, makeOrganization, reach } from '../chat/support/process.ts'
import { ADMIN, expect, provision, stateOf, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { basic, request } from '../support/client.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../support/process.ts'
import { RawClient } from '../support/raw-client.ts'

const root = resolve(import.meta.dirname, '../..')
const program = await buildForTests()
const { version: INSTALLED } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
const [major, minor] = INSTALLED.split('.').map(Number)
const NEXT = `${major}.${minor! + 1}.0`

const workshop = mkdtempSync(join(tmpdir(), 'coffer-release-'))
process.once('exit', () => rmSync(workshop, { recursive: true, force: true }))
run('release-key.ts', 'release')
run('release-key.ts', 'other')
cpSync(dirname(await buildForTests(NEXT)), join(workshop, 'next'), { recursive: true })
const image = makeImage('next', NEXT)

function run(tool: string, ...parameters: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(root, 'tools', tool), ...parameters], {
    cwd: workshop,
    encoding: 'utf8',
  })
  assert.equal(status, 0, stderr)
  return stdout
}

function makeImage(directory: string, version: string, key = 'release'): Buffer {
  writeFileSync(join(workshop, directory, 'package.json'), JSON.stringify({ type: 'module', version }))
  const manifest = { product: 'Coffer', version, minimumVersion: INSTALLED, releaseNotes: `What ${version} brings.` }
  writeFileSync(join(workshop, 'release.json'), JSON.stringify(manifest))
  const files = readdirSync(join(workshop, directory))
    .filter((name) => name !== 'boot.js' && name !== 'LICENSES.txt')
    .map((name) => join(directory, name))
  run('update-image.ts', '--manifest', 'release.json', '--key', `${key}.key`, '--output', 'image.cpio', ...files)
  return readFileSync(join(workshop, 'image.cpio'))
}

function makeBadImage(version: string, source: string): Buffer {
  const directory = `bad-${version}`
  cpSync(join(workshop, 'next'), join(workshop, directory), { recursive: true })
  writeFileSync(join(workshop, directory, 'firmware.js'), source)
  return makeImage(directory, version)
}

interface Start {
  data: string
  coffer: Coffer
}

async function start(t: TestContext, { withKey = true } = {}): Promise<Start> {
  const data = makeDataDirectory(t)
  if (withKey) cpSync(join(workshop, 'release.pub'), join(data, 'release.pub'))
  const coffer = startCoffer(t, { program, data })
  await coffer.see(/Unprovisioned/)
  await provision(coffer)
  return { data, coffer }
}

const upload = (coffer: Coffer, body: Uint8Array = image) => coffer.call('POST', '/system/update', { as: ADMIN, body })
const commit = (coffer: Coffer) => coffer.call('POST', '/system/commit-update', { as: ADMIN })
const cancel = (coffer: Coffer) => coffer.call('POST', '/system/cancel-update', { as: ADMIN })
const post = (coffer: Coffer, path: string) => coffer.call('POST', path, { as: ADMIN })
const unlock = (coffer: Coffer) =>
  expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
const software = async (coffer: Coffer) =>
  (await expect(200, coffer.call('GET', '/system/software', { as: ADMIN }))).json<Record<string, unknown>>()
const systemInfo = async (coffer: Coffer) =>
  (await expect(200, coffer.call('GET', '/system/info', { as: ADMIN }))).json<Record<string, unknown>>()
const incoming = (data: string) => existsSync(join(data, 'slots/incoming'))

async function makeKey(coffer: Coffer): Promise<string> {
  const json = { id: 'kept', type: 'Curve25519', mechanisms: ['EdDSA_Signature'] }
  await expect(201, coffer.call('POST', '/keys/generate', { as: ADMIN, json }))
  return publicKey(coffer)
}
const publicKey = async (coffer: Coffer) =>
  (await expect(200, coffer.call('GET', '/keys/kept/public.pem', { as: ADMIN }))).text()

test('system information names version, build and device', async (t) => {
  const { data, coffer } = await start(t)
  const { deviceId, ...rest } = await systemInfo(coffer)
  const bundle = ['firmware.js', 'worker.js'].map((name) => readFileSync(join(dirname(program), name)))
  assert.deepEqual(rest, {
    softwareVersion: '5.0',
    softwareBuild: `coffer-${INSTALLED}`,
    firmwareVersion: 'N/A',
    hardwareVersion: 'N/A',
    akPub: {},
    pcr: {},
  })
  const { version, build } = await software(coffer)
  const digest = createHash('sha256').update(Buffer.concat(bundle)).digest('hex')
  assert.deepEqual([version, build], [INSTALLED, digest.slice(0, 12)])
  assert.match(String(deviceId), /^[A-Z2-7]{10}$/)
  assert.match(String((await software(coffer)).rsaEngine), /^(fast|plain)/)
  assert.ok(!readFileSync(join(data, 'device.key')).includes(String(deviceId)))
  await post(coffer, '/system/reboot')
  await coffer.see(/Locked/)
  await unlock(coffer)
  assert.equal((await systemInfo(coffer)).deviceId, deviceId)
})

test('an update is uploaded, survives a lock, is committed, and the data with it', async (t) => {
  const { data, coffer } = await start(t)
  const key = await makeKey(coffer)
  const { deviceId } = await systemInfo(coffer)
  await expect(412, commit(coffer))
  await expect(412, cancel(coffer))
  const answer = await expect(200, upload(coffer))
  assert.deepEqual(answer.json(), { releaseNotes: `What ${NEXT} brings.` })
  assert.match((await expect(409, upload(coffer, Buffer.from('anything')))).text(), /is pending/)
  await expect(204, post(coffer, '/lock'))
  await expect(412, commit(coffer))
  await unlock(coffer)
  const committed = await expect(204, commit(coffer))
  assert.equal(committed.headers['content-length'], '0')
  await coffer.see(new RegExp(`Version ${NEXT} is on trial\\.`))
  await coffer.see(new RegExp(`Coffer ${NEXT} at .*Locked`))
  assert.equal(await stateOf(coffer), 'Locked')
  await expect(200, coffer.call('GET', '/info'))
  assert.doesNotMatch(coffer.output(), /is good/, 'nothing was opened yet')
  await unlock(coffer)
  await coffer.see(new RegExp(`Version ${NEXT} is good\\.`))
  const info = await systemInfo(coffer)
  assert.deepEqual([info.softwareBuild, info.deviceId], [`coffer-${NEXT}`, deviceId])
  assert.equal((await software(coffer)).updateFallback, undefined)
  assert.equal(await publicKey(coffer), key)
  assert.deepEqual(readdirSync(data).sort(), ['device.key', 'lock', 'release.pub', 'slots', 'store'])

  await coffer.stop()
  const again = startCoffer(t, { program, data })
  await again.see(new RegExp(`Coffer ${NEXT} at .*Locked`))
  await unlock(again)
  assert.equal((await systemInfo(again)).softwareBuild, `coffer-${NEXT}`)
  assert.equal(await publicKey(again), key)
  // And from there to the version after.
  await expect(200, upload(again, makeImage('next', '9.0')))
})

const VANDAL = `
  import { readdirSync, writeFileSync } from 'node:fs'
  for (const name of readdirSync('.')) writeFileSync(name, 'not a store any more')
  console.log('a bad version was here')
  process.exit(3)`

test('a version that crashes, whatever it did to the store, gives way to the one before by itself', async (t) => {
  const { data, coffer } = await start(t)
  const key = await makeKey(coffer)
  await expect(200, upload(coffer, makeBadImage('7.0', VANDAL)))
  await expect(204, commit(coffer))
  for (let n = 0; n < 3; n++) await coffer.see(/Version 7\.0 is on trial\.[\s\S]*?a bad version was here/)
  await coffer.see(
    new RegExp(`Version 7\\.0 was rolled back: [^\\n]*exit code 3[^\\n]* Version ${INSTALLED} is running\\.`),
  )
  // The firmware's log and its state come by different ways, in either order.
  await coffer.see(
    /Locked.*\n(.*\n)*warning general: .*7\.0 was rolled back|general: .*7\.0 was rolled back.*\n(.*\n)*.*Locked/,
  )
  await unlock(coffer)
  assert.equal(await publicKey(coffer), key)
  assert.equal((await systemInfo(coffer)).softwareBuild, `coffer-${INSTALLED}`)
  assert.match(String((await software(coffer)).updateFallback), /^Version 7\.0 was rolled back: .*exit code 3/)
  assert.deepEqual(readdirSync(join(data, 'slots')), ['state.json'])

  // The text stays until the next update, which is as possible as before.
  await coffer.stop()
  const again = startCoffer(t, { program, data })
  await again.see(/Locked/)
  await unlock(again)
  assert.match(String((await software(again)).updateFallback), /^Version 7\.0/)
  await expect(200, upload(again))
  await expect(204, commit(again))
  await again.see(/Locked/)
  await unlock(again)
  await again.see(new RegExp(`Version ${NEXT} is good\\.`))
})

/** The firmware of a version that does this where it begins to open the store. */
function faultAtUnlock(fault: string): string {
  const firmware = readFileSync(join(workshop, 'next/firmware.js'), 'utf8')
  const bad = firmware.replace(/function openDomain\((\w+).*\{\n/, `$&${fault}\n`)
  assert.notEqual(bad, firmware)
  return bad
}

test('a trial that falls back loses nothing of the chat, whether it ends before the unlock or at it, nor does one that is good', async (t) => {
  const data = makeDataDirectory(t)
  cpSync(join(workshop, 'release.pub'), join(data, 'release.pub'))
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.see(/Unprovisioned/)
  await provision(coffer)
  await makeOrganization(coffer)
  const port = async () => (await reach(coffer, 'running')).port!
  const account = await keyOf(await port())
  const files = () =>
    readdirSync(join(data, 'chat'), { recursive: true }).filter((name) => !/-(wal|shm)$/.test(String(name)))

  await mark(await port(), account, 'Before')
  const before = files()
  await expect(200, upload(coffer, makeBadImage('7.0', VANDAL)))
  await expect(204, commit(coffer))
  await coffer.see(/Version 7\.0 was rolled back/)
  await coffer.see(/Locked/)
  await unlock(coffer)
  assert.equal(await markOf(await port(), account), 'Before')

  await mark(await port(), account, 'Between')
  await expect(200, upload(coffer, makeBadImage('7.2', faultAtUnlock('process.exit(9)'))))
  await expect(204, commit(coffer))
  for (let n = 0; n < 3; n++) {
    await coffer.see(/Coffer 7\.2 at .*Locked, waiting/)
    await assert.rejects(unlock(coffer))
  }
  await coffer.see(/Version 7\.2 was rolled back/)
  await coffer.see(/Locked/)
  await unlock(coffer)
  assert.equal(await markOf(await port(), account), 'Between')

  await expect(200, upload(coffer))
  await expect(204, commit(coffer))
  await coffer.see(new RegExp(`Coffer ${NEXT} at .*Locked`))
  await unlock(coffer)
  await coffer.see(new RegExp(`Version ${NEXT} is good\\.`))
  assert.equal(await markOf(await port(), account), 'Between')
  assert.deepEqual(files(), before)
})

/** Faults when the store is opened, at the place where that begins; `$1` are the records. */
const BAD_UNLOCKS: [version: string, fault: string, reason: string][] = [
  ['7.2', 'process.exit(9)', 'the firmware ended with exit code 9'],
  ['7.3', "throw new CofferError('storage', 'It cannot read this')", 'It cannot read this'],
  ['7.4', '$1 = { ...$1, follow: () => {} }', 'No user can be read'],
]

for (const [version, fault, reason] of BAD_UNLOCKS)
  test(`a version that fails at the unlock three times gives way to the one before: ${reason}`, async (t) => {
    const { coffer } = await start(t)
    const key = await makeKey(coffer)
    await expect(200, upload(coffer, makeBadImage(version, faultAtUnlock(fault))))
    await expect(204, commit(coffer))
    for (let n = 0; n < 3; n++) {
      await coffer.see(new RegExp(`Coffer ${version} at .*Locked, waiting`))
      await assert.rejects(unlock(coffer))
    }
    await coffer.see(new RegExp(`Version ${version} was rolled back: ${reason}. Version ${INSTALLED} is running\\.`))
    await coffer.see(/Locked/)
    await unlock(coffer)
    assert.equal(await publicKey(coffer), key)
  })

const FAILED = `
  process.on('message', ({ type }) => {
    if (type === 'start') {
      process.send({ type: 'listening', address: '127.0.0.1', port: 1 })
      process.send({ type: 'state', state: 'Failed', reason: 'The store was written by a newer version' })
    } else if (type === 'stop') process.exit(0)
  })`

test('a version that cannot open the store gives way', async (t) => {
  const { coffer } = await start(t)
  await expect(200, upload(coffer, makeBadImage('7.1', smallFirmware(FAILED))))
  await expect(204, commit(coffer))
  await coffer.see(/Version 7\.1 was rolled back: The store was written by a newer version\./)
  await coffer.see(/Locked/)
  await unlock(coffer)
  assert.match(String((await software(coffer)).updateFallback), /7\.1 .*newer version/)
})

test('a canceled update is gone, and one that was not committed does not survive a restart', async (t) => {
  const { data, coffer } = await start(t)
  await expect(200, upload(coffer))
  assert.ok(incoming(data))
  await expect(204, cancel(coffer))
  assert.ok(!incoming(data))
  await expect(412, cancel(coffer))
  await expect(200, upload(coffer))
  await expect(204, post(coffer, '/system/reboot'))
  await coffer.see(/Locked/)
  assert.ok(!incoming(data))
  await unlock(coffer)
  await expect(412, commit(coffer))
  await expect(200, upload(coffer))
  await coffer.kill(true)
  const again = startCoffer(t, { program, data })
  await again.see(/Locked/)
  assert.ok(!incoming(data))
  assert.equal(await stateOf(again), 'Locked')
})

test('damaged images and those of others are refused over HTTPS, and leave nothing', async (t) => {
  const { data, coffer } = await start(t)
  const flipped = Buffer.from(image)
  flipped[flipped.length >> 1]! ^= 1
  const older = makeImage('next', '0.0.1')
  const trailer = image.lastIndexOf('TRAILER!!!') - 110 // where its header begins
  const refused: [body: Uint8Array, status: number, message: RegExp][] = [
    [new Uint8Array(), 400, /empty/],
    [image.subarray(0, image.length >> 1), 400, /ends within the content of/],
    [image.subarray(0, trailer), 400, /ends without its trailer/],
    [image.subarray(0, trailer + 5), 400, /ends within the magic number of a member/],
    [image.subarray(0, trailer + 50), 400, /ends within the header of a member/],
    [flipped, 400, /does not match the manifest/],
    [makeImage('next', NEXT, 'other'), 400, /not signed by the release key/],
    [Buffer.concat([image, Buffer.from('x')]), 400, /Data follow/],
  ]
  for (const [body, status, message] of refused) {
    assert.match((await expect(status, upload(coffer, body))).json<{ message: string }>().message, message)
    assert.ok(!incoming(data))
  }
  // Same major version, lower minor one: taken, as the contract has it.
  await expect(200, upload(coffer, older))
})

test('a client that breaks off its upload leaves nothing, and the next upload works', async (t) => {
  const { data, coffer } = await start(t)
  const { host, port } = await coffer.target()
  const raw = await RawClient.connect({ host, port })
  await raw.send(
    `POST /api/v1/system/update HTTP/1.1\r\nhost: x\r\nauthorization: ${basic(ADMIN)}\r\ncontent-length: ${image.length}\r\n\r\n`,
  )
  await raw.send(image.subarray(0, image.length >> 1))
  while (!incoming(data)) await wait(10)
  await expect(409, upload(coffer))
  raw.destroy()
  while (incoming(data)) await wait(10)
  // The slot is empty a moment before the firmware hears of it.
  let again = await upload(coffer)
  for (const deadline = Date.now() + 10_000; again.status === 409 && Date.now() < deadline; )
    again = await upload(coffer)
  assert.equal(again.status, 200, again.text())
})

test('without a release key every update is refused, and a bad one is refused at the start', async (t) => {
  const { data, coffer } = await start(t, { withKey: false })
  assert.match((await expect(400, upload(coffer))).json<{ message: string }>().message, /has no release key/)
  await coffer.stop()
  for (const [name, text] of [
    ['missing.pub', null],
    ['bad.pub', 'not a key'],
  ] as const) {
    const path = join(data, name)
    if (text !== null) writeFileSync(path, text)
    const refused = startCoffer(t, { program, data, settings: { COFFER_RELEASE_KEY: path } })
    assert.equal(await refused.ended, 1)
    assert.match(refused.output(), /Coffer does not start: the release key .*(cannot be read|is not)/)
  }
  const elsewhere = startCoffer(t, { program, data, settings: { COFFER_RELEASE_KEY: join(workshop, 'release.pub') } })
  await elsewhere.see(/Locked/)
  await unlock(elsewhere)
  await expect(200, upload(elsewhere))
})

test('a reboot keeps everything, a shutdown ends, also without credentials where there is nobody to ask', async (t) => {
  const { data, coffer } = await start(t)
  await expect(401, coffer.call('POST', '/system/shutdown'))
  await expect(401, coffer.call('POST', '/system/reboot'))
  const key = await makeKey(coffer)
  const reboot = await expect(204, post(coffer, '/system/reboot'))
  assert.equal(reboot.headers['cache-control'], 'no-cache')
  await coffer.see(/Locked/)
  await expect(412, post(coffer, '/system/reboot'))
  await unlock(coffer)
  assert.equal(await publicKey(coffer), key)
  await expect(204, post(coffer, '/system/shutdown'))
  assert.equal(await coffer.ended, 0)

  const locked = startCoffer(t, { program, data })
  await locked.see(/Locked/)
  await expect(204, locked.call('POST', '/system/shutdown', { as: 'nobody:wrong passphrase' }))
  assert.equal(await locked.ended, 0)
})

test('answers under way are given before the restart', async (t) => {
  const { coffer } = await start(t)
  const json = { type: 'RSA', length: 3072, mechanisms: ['RSA_Signature_PKCS1'] }
  const generating = coffer.call('POST', '/keys/generate', { as: ADMIN, json })
  await wait(50)
  await expect(204, post(coffer, '/system/reboot'))
  await expect(201, generating)
  await coffer.see(/Locked/)
})

test('a factory reset leaves nothing that could be opened, and keeps the release key', async (t) => {
  const { data, coffer } = await start(t)
  await makeKey(coffer)
  await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const { deviceId } = await systemInfo(coffer)
  const deviceKey = readFileSync(join(data, 'device.key'))
  const stolen = join(workshop, 'stolen')
  execFileSync('cp', ['--archive', join(data, 'store'), stolen]) // which, other than Node's, ends when a file becomes shorter meanwhile
  await expect(401, coffer.call('POST', '/system/factory-reset'))
  await expect(204, post(coffer, '/system/factory-reset'))
  await coffer.see(/Unprovisioned/)
  assert.equal(await stateOf(coffer), 'Unprovisioned')
  assert.notDeepEqual(readFileSync(join(data, 'device.key')), deviceKey)
  await expect(412, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await provision(coffer)
  assert.deepEqual((await expect(200, coffer.call('GET', '/keys', { as: ADMIN }))).json(), [])
  assert.notEqual((await systemInfo(coffer)).deviceId, deviceId)
  await expect(200, upload(coffer))

  // A copy of the old store, which started unattended, opens nothing any more.
  await coffer.stop()
  rmSync(join(data, 'store'), { recursive: true })
  cpSync(stolen, join(data, 'store'), { recursive: true })
  const again = startCoffer(t, { program, data })
  await again.see(/Failed/)
  await expect(412, again.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
})

test('a Failed appliance can be restarted and erased by anybody', async (t) => {
  const { data, coffer } = await start(t)
  await coffer.stop()
  const kept = readFileSync(join(data, 'device.key'))
  rmSync(join(data, 'device.key'))
  const failed = startCoffer(t, { program, data })
  await failed.see(/Failed/)
  await expect(412, failed.call('GET', '/system/info', { as: ADMIN }))
  await expect(412, upload(failed))
  writeFileSync(join(data, 'device.key'), kept)
  await expect(204, failed.call('POST', '/system/reboot'))
  await failed.see(/Locked/)
  rmSync(join(data, 'device.key'))
  await failed.stop()
  const again = startCoffer(t, { program, data })
  await again.see(/Failed/)
  await expect(204, again.call('POST', '/system/factory-reset'))
  await again.see(/Unprovisioned/)
})

test('a firmware on trial answers the page for browsers and its documents, and else nothing but 503 until it is good', async (t) => {
  const data = makeDataDirectory(t)
  const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const
  const firmware = spawn(process.execPath, [join(workshop, 'next/firmware.js')], { stdio: [...stdio] })
  t.after(() => firmware.kill('SIGKILL'))
  const channel = openChannel(firmware.stdio[CHANNEL_DESCRIPTOR] as Duplex, readMessage)
  const send = (message: ToFirmware) => channel.send(message)
  const settings = {
    dataDirectory: data,
    host: '127.0.0.1',
    port: 0,
    httpPort: null,
    logLevel: 'error',
    releaseKey: null,
  } as const
  const listening = new Promise<number>((resolve) => {
    channel.on('message', (message) => {
      if (message.type === 'listening') resolve(message.port)
    })
  })
  send({ type: 'start', settings, deviceKey: new Uint8Array(32).fill(7), software: { trial: true, fallback: null } })
  const port = await listening
  const get = (path: string) => request({ host: '127.0.0.1', port }, 'GET', path)
  const page = (await get('/')).text()
  assert.match(page, /<title>Coffer/)
  const linked = [...page.matchAll(/"(\/console\/[^"]+)"/g)].map(([, path]) => path!)
  assert.ok(linked.length >= 2, page)
  for (const path of [...linked, '/docs', '/docs/']) assert.equal((await get(path)).status, 200, path)
  const call = (method: string, path: string) => request({ host: '127.0.0.1', port }, method, `/api/v1${path}`)
  for (const [method, path] of [
    ['GET', '/info'],
    ['POST', '/provision'],
    ['GET', '/nothing'],
    ['GET', '/../../nothing'],
  ] as const) {
    const reply = await call(method, path)
    assert.deepEqual([reply.status, reply.json()], [503, { message: 'A new version is being tried' }])
    assert.equal(reply.headers['retry-after'], '1')
  }
  send({ type: 'good' })
  while ((await call('GET', '/info')).status !== 200) await wait(10)
  send({ type: 'stop' })
  await once(firmware, 'exit')
})

test('the tools refuse to overwrite a key and to sign what no appliance would take', () => {
  const tool = (name: string, ...parameters: string[]) =>
    spawnSync(process.execPath, [join(root, 'tools', name), ...parameters], { cwd: workshop, encoding: 'utf8' })
  assert.match(tool('release-key.ts', 'release').stderr, /release\.key exists/)
  assert.equal(tool('release-key.ts').status, 2)
  assert.match(tool('update-image.ts').stderr, /--manifest <json>/)
  const manifest = { product: 'Coffer', version: '1', minimumVersion: '0.1', releaseNotes: '' }
  writeFileSync(join(workshop, 'bad.json'), JSON.stringify(manifest))
  const bad = tool(
    'update-image.ts',
    '--manifest',
    'bad.json',
    '--key',
    'release.key',
    '--output',
    'bad.cpio',
    'release.pub',
  )
  assert.equal(bad.status, 1)
  assert.match(bad.stderr, /manifest\.version: not a version/)
  assert.equal(existsSync(join(workshop, 'bad.cpio')), false)
})

test('the tool refuses a manifest whose version is not that of the bundle', () => {
  const manifest = { product: 'Coffer', version: '9.9.9', minimumVersion: '0.1', releaseNotes: '' }
  writeFileSync(join(workshop, 'other.json'), JSON.stringify(manifest))
  const options = ['--manifest', 'other.json', '--key', 'release.key', '--output', 'other.cpio']
  const files = ['next/firmware.js', 'next/package.json']
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'tools/update-image.ts'), ...options, ...files], {
    cwd: workshop,
    encoding: 'utf8',
  })
  assert.equal(status, 1)
  assert.match(stderr, /the manifest says version 9\.9\.9, the bundle was built as/)
  assert.equal(existsSync(join(workshop, 'other.cpio')), false)
})
