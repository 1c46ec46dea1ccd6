/** Debian's packages for the image: the locked ones or none. */

import assert from 'node:assert/strict'
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import { readArchitecture } from '../../image/architecture.ts'
import { openDebian } from '../../image/debian.ts'
import { neededLibraries, stripped } from '../../image/elf.ts'
import { openNodeRuntime } from '../../image/node-runtime.ts'
import { type LockedPackage, lockedPackages } from '../../image/package-lock.ts'
import { withoutLanguages } from '../../image/unicode-data.ts'
import { onMachines } from '../support/machine.ts'
import { makeDirectory } from './images.ts'

const ROOT = join(import.meta.dirname, '../..')
const x64 = readArchitecture('x64')
const small = (): LockedPackage => lockedPackages(x64).find(({ name }) => name === 'libcap-ng0')!

test('a locked package comes with its files, and the second time without a network', onMachines(), (t) => {
  const cache = makeDirectory(t)
  const directory = openDebian(x64, cache).unpack(small())
  const library = readdirSync(join(directory, 'lib/x86_64-linux-gnu')).find((name) => name.endsWith('.so.0'))!
  assert.deepEqual(neededLibraries(readFileSync(join(directory, 'lib/x86_64-linux-gnu', library))), [
    'libc.so.6',
    'ld-linux-x86-64.so.2',
  ])
  const path = process.env.PATH
  t.after(() => {
    process.env.PATH = path
  })
  process.env.PATH = '/nowhere' // neither apt nor dpkg
  assert.equal(openDebian(x64, cache).unpack(small()), directory)
})

test('two processes that begin with the same empty cache both have it', onMachines(), async (t) => {
  const cache = makeDirectory(t)
  const module = (name: string) => JSON.stringify(join(ROOT, 'image', name))
  const script = `
    import { readArchitecture } from ${module('architecture.ts')}
    import { openDebian } from ${module('debian.ts')}
    console.log(openDebian(readArchitecture('x64'), ${JSON.stringify(cache)}).unpack(${JSON.stringify(small())}))`
  const both = await Promise.all(
    [1, 2].map(() => promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script])),
  )
  const { name, sha256 } = small()
  const unpacked = join(cache, `amd64/${name}_${sha256}`)
  assert.deepEqual(
    both.map(({ stdout }) => stdout.trim()),
    [unpacked, unpacked],
  )
  assert.ok(existsSync(join(unpacked, 'lib/x86_64-linux-gnu')))
})

test('a version that the archive no longer has is refused by naming the one to move to', onMachines(), (t) => {
  const { name, version } = small()
  const gone = { name, version: '0.1-1', sha256: '0'.repeat(64) }
  assert.throws(() => openDebian(x64, makeDirectory(t)).unpack(gone), {
    message:
      `${name} 0.1-1 is no longer in Debian's archive, which has ${version} now. ` +
      'tools/node image/update-lock.ts moves the lock to the newest versions.',
  })
})

test('a package with another hash than the locked one is refused, and not kept', onMachines(), (t) => {
  const cache = makeDirectory(t)
  const { name, version, sha256: actual } = small()
  const locked = { name, version, sha256: '0'.repeat(64) }
  for (const _ of ['the first time', 'and again'])
    assert.throws(() => openDebian(x64, cache).unpack(locked), {
      message: `${name} ${version} has the hash ${actual}; packages.lock.json says ${locked.sha256}`,
    })
  assert.ok(!existsSync(join(cache, `amd64/${name}_${locked.sha256}`)))
})

test('both architectures are locked to the same set of packages, each once', () => {
  const names = ['x64', 'arm64'].map((name) =>
    lockedPackages(readArchitecture(name)).map(({ name }) => name.replace(/-(amd64|arm64)$/, '')),
  )
  assert.deepEqual(names[0], names[1])
  assert.equal(new Set(names[0]).size, names[0]!.length)
  for (const name of ['x64', 'arm64'])
    for (const { sha256 } of lockedPackages(readArchitecture(name))) assert.match(sha256, /^[0-9a-f]{64}$/)
})

test('Node without its symbols is the smaller, the same otherwise, and asks for the same libraries', (t) => {
  const whole = readFileSync(process.execPath)
  const short = stripped(whole)
  assert.ok(short.length < whole.length)
  assert.deepEqual(neededLibraries(short), neededLibraries(whole))
  assert.ok(neededLibraries(whole).includes('libc.so.6'))
  assert.deepEqual(neededLibraries(Buffer.from('#!/bin/sh\n')), [])
  const script = `
    const { createHash } = await import('node:crypto')
    console.log(new Intl.DateTimeFormat('de', { dateStyle: 'full', timeZone: 'UTC' }).format(0))
    console.log(createHash('sha256').digest('hex').slice(0, 8))`
  assert.equal(runAs(t, short, script), 'Donnerstag, 1. Januar 1970\ne3b0c442\n')
})

test('Node without languages has English, and of Unicode all that is of no language', (t) => {
  const whole = readFileSync(process.execPath)
  const short = withoutLanguages(whole)
  assert.equal(short.length, whole.length)
  const german = Buffer.from('Donnerstag', 'utf16le')
  assert.ok(whole.includes(german) && !short.includes(german))
  const script = `
    const date = { dateStyle: 'full', timeStyle: 'short', timeZone: 'Asia/Tokyo' }
    for (const language of ['en', 'de']) console.log(new Intl.DateTimeFormat(language, date).format(0).replaceAll('\u202f', ' '))
    console.log('ﬁ'.normalize('NFKC'), 'Straße'.toUpperCase(), ['z', 'ä', 'a'].sort(new Intl.Collator().compare).join(''))
    console.log(/^\\p{Script=Greek}\\p{Cc}$/u.test('λ\\n'), new URL('https://bücher.example').host)
    console.log(new TextDecoder('latin1').decode(Uint8Array.of(0xe4)), new TextDecoder('utf-16le').decode(Uint8Array.of(0xe4, 0)))`
  const day = 'Thursday, January 1, 1970 at 9:00 AM\n'
  assert.equal(runAs(t, short, script), `${day}${day}fi STRASSE aäz\ntrue xn--bcher-kva.example\nä ä\n`)
  assert.throws(() => withoutLanguages(Buffer.alloc(4096)), { message: 'Node has data of ICU 0 times, not once' })
})

/** Libraries of minimal installations of Debian 12 and 13 and of Ubuntu 22.04 and 24.04, all needed by apt. */
const LIBRARIES = [
  ...['ld-linux-x86-64.so.2', 'ld-linux-aarch64.so.1', 'libc.so.6', 'libdl.so.2', 'libgcc_s.so.1', 'libm.so.6'],
  ...['libpthread.so.0', 'libstdc++.so.6'],
]
/** Versions of their symbols that Ubuntu 22.04 has, the oldest of these. */
const NEWEST = { GLIBC_2: 35, 'GLIBCXX_3.4': 30 }

function expectOnMinimalSystems(path: string): void {
  const program = readFileSync(path)
  const libraries = neededLibraries(program)
  assert.ok(libraries.includes('libc.so.6'), path)
  assert.deepEqual(
    libraries.filter((name) => !LIBRARIES.includes(name)),
    [],
    path,
  )
  const text = program.toString('latin1')
  for (const [name, newest] of Object.entries(NEWEST)) {
    const wanted = [...text.matchAll(new RegExp(`\\0${name.replace('.', '\\.')}\\.(\\d+)(?=[.\\0])`, 'g'))]
    assert.ok(wanted.length > 0, `${path} wants no ${name}`)
    for (const [, version] of wanted) assert.ok(Number(version) <= newest, `${path} wants ${name}.${version}`)
  }
}

test('Node and SQLite ask minimal Debians and Ubuntus for nothing that they lack', () => {
  expectOnMinimalSystems(process.execPath)
  for (const name of ['x64', 'arm64'])
    expectOnMinimalSystems(join(ROOT, `node_modules/better-sqlite3/prebuilds/linux-${name}.node`))
})

test('nor does Node for arm64', onMachines('arm64'), () => {
  const { directory } = openNodeRuntime(readArchitecture('arm64'), join(ROOT, 'dist/node'))
  expectOnMinimalSystems(join(directory, 'bin/node'))
})

function runAs(t: TestContext, node: Buffer, script: string): string {
  const program = join(makeDirectory(t), 'node')
  writeFileSync(program, node, { mode: 0o755 })
  return spawnSync(program, ['--input-type=module', '--eval', script], { encoding: 'utf8' }).stdout
}
