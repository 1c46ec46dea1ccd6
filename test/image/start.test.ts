// @test device 300 slow
/** An appliance's life over the real network path: flashed, provisioned, switched off and on, erased. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, makeDisk } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { findPartition, readBytes, writePieces } from './replay.ts'

const MEBIBYTE = 1024 * 1024
const DISK_BYTES = 640 * MEBIBYTE
const STORE_TRACE = 'SQLite format 3'
const PAGE_BYTES = 4096
const SEALED_BYTES = 48
const OPERATOR = 'signer:passphrase of the signer'
const OTHER_ADDRESS = '192.168.1.77'
const SIGN_BYTES_MAX = 45 * MEBIBYTE // as base64 in JSON close to the largest body, contract section 1.5
// Ten minutes with COFFER_SLOW=1. What lacked memory for it ended after some hundreds.
const SIGNATURES = 500
const SIGNING_MS = process.env.COFFER_SLOW === undefined ? 0 : 600_000

let image: Image
before(async () => {
  if (onMachines().skip === false) image = await buildImage()
})

test(
  'keys outlive being switched off, the prompt opens them, and unattended boot needs no hand',
  onMachines(),
  async (t) => {
    const disk = makeDisk(t, image, DISK_BYTES)

    const first = await boot(t, image, { disk })
    await first.answers()
    assert.match(first.output(), /Creating the data partition\./)
    assert.equal(await first.state(), 'Unprovisioned')
    await provision(first)
    await makeKeys(first)
    await checkKeys(first)
    await expect(204, first.call('POST', '/system/shutdown', { as: ADMIN }))
    assert.equal(await first.ended, 0)
    assert.match(first.output(), /The machine is powering off\./)
    checkDisk(t, disk)
    assert.ok(holds(disk, STORE_TRACE))

    const second = await boot(t, image, { disk, exitOnRestart: false })
    await second.see(/Coffer\r?\nVersion \S+\r?\nhttps:\/\/192\.168\.1\.1:8443\r?\nUnlock passphrase: /)
    await second.answers()
    assert.equal(await second.state(), 'Locked')
    await expect(412, second.call('GET', '/keys/web', { as: ADMIN }))
    await second.type('not the passphrase\r')
    await second.see(/Wrong passphrase\.\r?\nUnlock passphrase: /)
    assert.equal(await second.state(), 'Locked')
    await new Promise((later) => setTimeout(later, 1100)) // the limit on attempts
    await second.type('\x03') // no signal: there is nobody to be interrupted
    await second.type(`${UNLOCK_PASSPHRASE}\r`)
    await second.see(/: Operational\r?\n/)
    assert.doesNotMatch(second.output(), /not the passphrase|unlock passphrase/)
    await checkKeys(second)
    await expect(204, second.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))

    await expect(204, second.call('POST', '/system/reboot', { as: ADMIN }))
    await second.see(/The machine is restarting\.\r?\n/)
    await second.see(/ at https:\/\/192\.168\.1\.1:8443: started unattended, Operational\r?\n/)
    await second.answers()
    await checkKeys(second)
    const network = { ipAddress: OTHER_ADDRESS, netmask: '255.255.255.0', gateway: '192.168.1.254' }
    await expect(204, second.call('PUT', '/config/network', { as: ADMIN, json: network }))
    await second.kill() // the plug, right after the answer

    const third = await boot(t, image, { disk, guestAddress: OTHER_ADDRESS, exitOnRestart: false })
    await third.see(/ at https:\/\/192\.168\.1\.77:8443: started unattended, Operational\r?\n/)
    await third.answers()
    await checkKeys(third)
    const reply = await expect(200, third.call('GET', '/config/network', { as: ADMIN }))
    assert.deepEqual(reply.json(), network)

    await expect(204, third.call('POST', '/system/factory-reset', { as: ADMIN }))
    await third.kill() // again right after the answer
    const sealed = takeSealed(disk)

    const fourth = await boot(t, image, { disk })
    await fourth.see(/Creating the data partition again: the first attempt was interrupted\./)
    await fourth.see(/ at https:\/\/192\.168\.1\.1:8443: Unprovisioned\r?\n/)
    assert.ok(!holds(disk, sealed))
    await fourth.answers()
    assert.equal(await fourth.state(), 'Unprovisioned')
  },
)

test(
  'a data partition that was written over is said, left alone, and made anew by a factory reset',
  onMachines(),
  async (t) => {
    const disk = makeDisk(t, image, DISK_BYTES)
    const rubbish = Buffer.alloc(4 * MEBIBYTE, 'rubbish ')
    const { startBytes } = findData(disk)
    writePieces(disk, [{ position: startBytes, data: rubbish }])

    const machine = await boot(t, image, { disk, exitOnRestart: false })
    await machine.see(/The file system of the data partition cannot be mended\. /)
    await machine.see(/: Failed: /)
    await machine.answers()
    assert.equal(await machine.state(), 'Failed')
    await expect(412, machine.call('POST', '/provision', { json: {} }))
    assert.deepEqual(readBytes(disk, startBytes, rubbish.length), rubbish)

    await expect(204, machine.call('POST', '/system/factory-reset'))
    await machine.see(/Factory reset: done\.\r?\n/)
    await machine.see(/: Unprovisioned\r?\n/)
    assert.ok(!holds(disk, 'rubbish '))
    await machine.answers()
    await provision(machine)
    await machine.kill()

    writePieces(disk, [{ position: startBytes, data: Buffer.alloc(MEBIBYTE) }])
    const zeroed = await boot(t, image, { disk })
    await zeroed.see(
      /The beginning of the data partition is gone: it holds zeros\. Only a factory reset makes a new one\./,
    )
    await zeroed.see(/: Failed: /)
    await zeroed.answers()
    assert.equal(await zeroed.state(), 'Failed')
  },
)

test('a device with 512 MB signs the largest message there is, and goes on', onMachines(), async (t) => {
  const prepare = async (coffer: Pick<Appliance, 'call'>) => {
    await makeKeys(coffer)
    await expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  }
  const disk = await makeProvisionedDisk(t, image, prepare)
  const appliance = await boot(t, image, { disk, memoryMegabytes: 512 })
  await appliance.answers()
  const json = { mode: 'EdDSA', message: Buffer.alloc(SIGN_BYTES_MAX).toString('base64') }
  await expect(200, appliance.call('POST', '/keys/mail/sign', { as: OPERATOR, json, timeoutMs: 300_000 }))
  await checkKeys(appliance)
  assert.doesNotMatch(appliance.output(), /The firmware ended/)
})

test('with 256 MB a device starts through UEFI, and signs at 16 connections', onMachines(), async (t) => {
  const appliance = await boot(t, image, { disk: makeDisk(t, image), firmware: 'ovmf', memoryMegabytes: 256 })
  await appliance.answers()
  assert.equal(await appliance.state(), 'Unprovisioned')
  await provision(appliance)
  await makeKeys(appliance)
  const json = { mode: 'ECDSA', message: Buffer.alloc(32, 7).toString('base64') }
  let signed = 0
  const started = performance.now()
  const isOver = () => signed >= SIGNATURES && performance.now() - started >= SIGNING_MS
  await Promise.all(
    Array.from({ length: 16 }, async () => {
      for (; !isOver(); signed++)
        await expect(200, appliance.call('POST', '/keys/web/sign', { as: OPERATOR, json, timeoutMs: 300_000 }))
    }),
  )
  assert.doesNotMatch(appliance.output(), /The firmware ended/)
})

/** A field that nobody reads: without a check of every block the device would start. SquashFS 4.0, superblock. */
const MODIFICATION_TIME = 8
/** How each of our programs begins; text that is new is stored as it is. */
const PROGRAM_START = 'import { createRequire } from'

test('of a root file system in which one byte was changed, nothing runs that was changed', onMachines(), async (t) => {
  const root = readFileSync(image.root)
  const ofChat = root.indexOf(PROGRAM_START) // the first by its name, which nobody starts here
  const ofDevice = root.indexOf(PROGRAM_START, ofChat + 1)
  const changes: [at: number, refusal: RegExp][] = [
    [MODIFICATION_TIME, /Coffer does not start: its root file system cannot be opened\./],
    [ofDevice, /verity: .*data block \d+ is corrupted/],
  ]
  for (const [at, refusal] of changes) {
    assert.ok(at > 0)
    const disk = makeDisk(t, image, DISK_BYTES)
    const position = findPartition(disk, 'coffer-root-a').start + at
    writePieces(disk, [{ position, data: Buffer.of(readBytes(disk, position, 1)[0]! ^ 1) }])
    const machine = await boot(t, image, { disk })
    await machine.see(refusal)
    await machine.ended
    assert.doesNotMatch(machine.output(), /data partition|https:/)
  }
})

async function makeKeys(appliance: Pick<Appliance, 'call'>): Promise<void> {
  const [realName, passphrase] = ['Signer', OPERATOR.slice('signer:'.length)]
  await expect(
    201,
    appliance.call('PUT', '/users/signer', { as: ADMIN, json: { realName, role: 'Operator', passphrase } }),
  )
  for (const [id, type, mechanism] of [
    ['web', 'EC_P256', 'ECDSA_Signature'],
    ['mail', 'Curve25519', 'EdDSA_Signature'],
  ]) {
    const json = { id, type, mechanisms: [mechanism] }
    await expect(201, appliance.call('POST', '/keys/generate', { as: ADMIN, json }))
  }
}

async function checkKeys(appliance: Appliance): Promise<void> {
  const digest = Buffer.alloc(32, 7)
  for (const [id, mode] of [
    ['web', 'ECDSA'],
    ['mail', 'EdDSA'],
  ]) {
    const key = createPublicKey(
      (await expect(200, appliance.call('GET', `/keys/${id}/public.pem`, { as: ADMIN }))).text(),
    )
    const json = { mode, message: digest.toString('base64') }
    const reply = await expect(200, appliance.call('POST', `/keys/${id}/sign`, { as: OPERATOR, json }))
    const signature = Buffer.from(reply.json<{ signature: string }>().signature, 'base64')
    assert.ok(id === 'mail' ? verify(null, digest, key, signature) : signature.length >= 64, `${id} does not sign`)
  }
}

/** The data partition reaches to the end of the disk, its file system is in order, and no etcd was ever started: the device is alone. */
function checkDisk(t: TestContext, disk: string): void {
  const { startBytes, endBytes } = findData(disk)
  assert.ok(endBytes > DISK_BYTES - MEBIBYTE, `ends at ${endBytes}`)
  const partition = join(makeDirectory(t), 'data.img')
  const parameters = [`if=${disk}`, `of=${partition}`, 'bs=1M', `skip=${startBytes / MEBIBYTE}`]
  execFileSync('dd', [...parameters, 'conv=sparse', 'status=none'])
  execFileSync('e2fsck', ['-f', '-n', partition], { stdio: 'pipe' })
  const names = execFileSync('debugfs', ['-R', 'ls -p /', partition], { encoding: 'utf8', stdio: 'pipe' })
  assert.match(names, /\/store\//)
  assert.doesNotMatch(names, /\/etcd\//)
}

function findData(disk: string): { startBytes: number; endBytes: number } {
  const text = execFileSync('sfdisk', ['--json', disk], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  const { partitiontable } = JSON.parse(text) as {
    partitiontable: { sectorsize: number; partitions: { name: string; start: number; size: number }[] }
  }
  const { start, size } = partitiontable.partitions.find(({ name }) => name === 'coffer-data')!
  const { sectorsize } = partitiontable
  return { startBytes: start * sectorsize, endBytes: (start + size) * sectorsize }
}

function holds(disk: string, bytes: string | Buffer): boolean {
  const { startBytes, endBytes } = findData(disk)
  return readBytes(disk, startBytes, endBytes - startBytes).includes(bytes)
}

/** Some of the store's bytes that no other store has: of a record, at the end of one of its pages. */
function takeSealed(disk: string): Buffer {
  const { startBytes, endBytes } = findData(disk)
  const data = readBytes(disk, startBytes, endBytes - startBytes)
  for (let end = data.indexOf(STORE_TRACE) + PAGE_BYTES; end < data.length; end += PAGE_BYTES) {
    const bytes = data.subarray(end - SEALED_BYTES, end)
    if (new Set(bytes).size > SEALED_BYTES / 2) return bytes
  }
  throw new Error('no record is found')
}
