/** Predicts whether Secure Boot starts a program: signatures as sbsign makes them. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { inspectKernelImage } from '../../../boot/device/esp/kernel-image.ts'
import { openPortableExecutable, PeError } from '../../../boot/device/esp/portable-executable.ts'
import {
  parseSignatureLists,
  readSecureBoot,
  refuseUnsigned,
  type SecureBootState,
} from '../../../boot/device/esp/secure-boot.ts'
import { SlotError } from '../../../boot/versions/slot-error.ts'
import { kernelImage, makeSigner, onStub, rootImage, SECTIONS, signatureLists } from './kernel-images.ts'

function bench(t: TestContext) {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-secure-boot-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [path, root] = [join(directory, 'image.efi'), join(directory, 'partition')]
  writeFileSync(root, rootImage('1.0.0').bytes)
  const open = (bytes: Uint8Array) => {
    writeFileSync(path, bytes)
    return openPortableExecutable(path)
  }
  const check = (bytes: Uint8Array, secureBoot: SecureBootState) => {
    const program = open(bytes)
    try {
      refuseUnsigned(program, secureBoot)
    } finally {
      program.close()
    }
  }
  const inspect = (bytes: Uint8Array, version = '1.0.0') => {
    writeFileSync(path, bytes)
    inspectKernelImage(path, { architecture: 'x64', version, root, secureBoot: null })
  }
  return { open, check, inspect, root }
}

const none = { certificates: [], hashes: new Set<string>() }
const allowing = (...certificates: Buffer[]): SecureBootState => ({
  allowed: parseSignatureLists(signatureLists(certificates.map((certificate) => ({ certificate })))),
  forbidden: none,
})
const refused = (message: RegExp) => (error: unknown) => error instanceof SlotError && message.test(error.message)

test('who is in the database, or certified by one who is, may sign; nobody else', onStub, (t) => {
  const { check } = bench(t)
  const [owner, stranger] = [makeSigner(t, 'owner'), makeSigner(t, 'stranger')]
  const employee = makeSigner(t, 'employee', owner)
  const image = kernelImage('1.0.0')
  check(owner.sign(image), allowing(owner.certificate))
  check(owner.sign(image), allowing(stranger.certificate, owner.certificate))
  check(employee.sign(image), allowing(owner.certificate))
  check(stranger.sign(owner.sign(image)), allowing(owner.certificate))
  check(owner.sign(stranger.sign(image)), allowing(owner.certificate))
  assert.throws(() => check(stranger.sign(image), allowing(owner.certificate)), refused(/not by anyone this machine/))
  assert.throws(() => check(owner.sign(image), allowing(employee.certificate)), refused(/not by anyone/))
  assert.throws(() => check(owner.sign(image), allowing()), refused(/not by anyone/))
  assert.throws(() => check(image, allowing(owner.certificate)), refused(/not signed for Secure Boot/))
})

test('what is forbidden goes before what is allowed', onStub, (t) => {
  const { check, open } = bench(t)
  const owner = makeSigner(t, 'owner')
  const image = owner.sign(kernelImage('1.0.0'))
  const program = open(image)
  const sha256 = program.sha256()
  program.close()
  const { allowed } = allowing(owner.certificate)
  const byHash = parseSignatureLists(signatureLists([{ sha256 }]))
  assert.throws(() => check(image, { allowed, forbidden: byHash }), refused(/forbid the image/))
  assert.throws(() => check(image, { allowed, forbidden: allowed }), refused(/not signed/))
  check(kernelImage('1.0.0'), { allowed: byHash, forbidden: none }) // by its hash, without any signature
  assert.throws(() => check(kernelImage('1.0.1'), { allowed: byHash, forbidden: none }), refused(/not signed/))
})

test('one changed byte, anywhere, and the signature holds no longer', onStub, (t) => {
  const { check } = bench(t)
  const owner = makeSigner(t, 'owner')
  const secureBoot = allowing(owner.certificate)
  const image = owner.sign(kernelImage('1.0.0'))
  const optional = image.readUInt32LE(0x3c) + 24
  const certificates = image.readUInt32LE(optional + 112 + 32)
  const places = Array.from({ length: 300 }, () => Math.floor(Math.random() * certificates))
  for (const name of ['kernel of 1.0.0', 'console=ttyS0', 'VERSION_ID=']) places.push(image.indexOf(name))
  for (const at of places) {
    if (at >= optional + 64 && at < optional + 68) continue // the checksum is not signed
    const changed = Buffer.from(image)
    changed[at]! ^= 0x20
    assert.throws(
      () => check(changed, secureBoot),
      (error) => error instanceof SlotError || error instanceof PeError,
      `byte ${at}`,
    )
  }
})

test('damaged signatures are no signatures, and nothing else comes of them', onStub, (t) => {
  const { check } = bench(t)
  const owner = makeSigner(t, 'owner')
  const image = owner.sign(kernelImage('1.0.0'))
  const start = image.readUInt32LE(image.readUInt32LE(0x3c) + 24 + 112 + 32)
  for (let n = 0; n < 1500; n++) {
    const changed = Buffer.from(image)
    for (let k = 0; k < 1 + (n % 5); k++)
      changed[start + 8 + Math.floor(Math.random() * (image.length - start - 8))] = Math.floor(Math.random() * 256)
    try {
      check(changed, allowing(owner.certificate))
    } catch (error) {
      assert.ok(error instanceof SlotError, `${error}`)
    }
  }
  const other = owner.sign(kernelImage('1.0.1'))
  const otherStart = other.readUInt32LE(other.readUInt32LE(0x3c) + 24 + 112 + 32)
  const moved = Buffer.concat([image.subarray(0, start), other.subarray(otherStart)])
  assert.throws(() => check(moved, allowing(owner.certificate)), refused(/not signed/))
})

test('variables of the firmware: off, on, and lists that are cut off', () => {
  const variables = (values: Record<string, Buffer>) => (name: string) => values[name] ?? null
  assert.equal(readSecureBoot(variables({})), null)
  assert.equal(readSecureBoot(variables({ SecureBoot: Buffer.of(0) })), null)
  const on = readSecureBoot(variables({ SecureBoot: Buffer.of(1) }))
  assert.deepEqual(on, { allowed: none, forbidden: none })
  const sha256 = Buffer.alloc(32, 1)
  const lists = signatureLists([{ sha256 }, { certificate: Buffer.from('no certificate') }, { sha256 }])
  for (let bytes = 0; bytes < lists.length; bytes++) {
    const { certificates, hashes } = parseSignatureLists(lists.subarray(0, bytes))
    assert.equal(certificates.length, 0)
    assert.ok(hashes.size <= 1)
  }
})

test('an image is inspected before it is started: kind, sections, version, completeness, root', onStub, (t) => {
  const { inspect, root } = bench(t)
  const image = kernelImage('1.0.0')
  inspect(image)
  for (const missing of SECTIONS) {
    const without = kernelImage(
      '1.0.0',
      SECTIONS.filter((name) => name !== missing),
    )
    assert.throws(() => inspect(without), refused(new RegExp(`no section \\${missing}`)))
  }
  assert.throws(() => inspect(image, '1.0.1'), refused(/says that it is version 1\.0\.0, its manifest says 1\.0\.1/))
  const arm = Buffer.from(image)
  arm.writeUInt16LE(0xaa64, image.readUInt32LE(0x3c) + 4)
  assert.throws(() => inspect(arm), refused(/another kind of processor/))
  for (const bytes of [0, 1, 63, 64, 100, 200, 500, 1000, 50_000, image.length - 1])
    assert.throws(() => inspect(image.subarray(0, bytes)), refused(/cannot be started/), `${bytes} bytes`)
  assert.throws(() => inspect(Buffer.from('#!/bin/sh\n')), refused(/not a program/))
  const nameless = Buffer.from(image)
  nameless.write('coffer.rood', image.indexOf('coffer.root'))
  assert.throws(() => inspect(nameless), refused(/names no root file system/))
  const whole = rootImage('1.0.0')
  const top = Buffer.from(whole.bytes)
  top[whole.blocks * 4096]! ^= 1
  for (const other of [rootImage('1.0.1').bytes, top, whole.bytes.subarray(0, whole.blocks * 4096), Buffer.alloc(0)]) {
    writeFileSync(root, other)
    assert.throws(() => inspect(image), refused(/belongs to another root file system/))
  }
})
