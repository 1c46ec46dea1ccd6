/** The Debian package and the image for containers as files: what others read in them, the same each time. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import test from 'node:test'
import { makeDeb } from '../../image/host/deb.ts'
import { makeTar } from '../../image/host/tar.ts'
import { bytesOf, directory, link, type Tree } from '../../image/tree.ts'
import { needs } from '../support/tools.ts'
import { makeDirectory } from './images.ts'

const TIME = 1_793_491_200
const host = resolve(import.meta.dirname, '../../image/host')

const small = (): Tree =>
  new Map([
    ['usr/lib/coffer/node', bytesOf(Buffer.from('#!/bin/true\n'), 'test', true)],
    ['usr/lib/coffer/boot.js', bytesOf(Buffer.from('x'.repeat(1000)), 'test')],
    ['empty', bytesOf(Buffer.alloc(0), 'test')],
    ['data', directory],
    ['bin', link('usr/bin')],
  ])

const debOf = (program: Tree) =>
  makeDeb({
    program,
    version: '1.2.3',
    architecture: 'arm64',
    licenses: ['one', 'another'],
    changes: '# Changelog\n',
    time: TIME,
  })

test('an archive is read by tar(1) as it was made, and is the same whatever the order of its files', (t) => {
  const place = makeDirectory(t)
  const tar = makeTar(small(), {
    prefix: '',
    time: TIME,
    ownerOf: (path) => (path === 'data' ? 10_000 : 0),
    modeOf: (path) => (path === 'data' ? 0o700 : undefined),
  })
  assert.deepEqual(makeTar(new Map([...small()].reverse()), { prefix: '', time: TIME }).length, tar.length)
  const archive = join(place, 'archive.tar')
  writeFileSync(archive, tar)
  const list = execFileSync('tar', ['--list', '--verbose', '--numeric-owner', '--file', archive], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, TZ: 'UTC', LC_ALL: 'C' },
  })
  const lines = list
    .trim()
    .split('\n')
    .map((line) => line.replaceAll(/ +/g, ' '))
  assert.deepEqual(lines, [
    'lrwxrwxrwx 0/0 0 2026-11-01 00:00 bin -> usr/bin',
    'drwx------ 10000/10000 0 2026-11-01 00:00 data/',
    '-rw-r--r-- 0/0 0 2026-11-01 00:00 empty',
    'drwxr-xr-x 0/0 0 2026-11-01 00:00 usr/',
    'drwxr-xr-x 0/0 0 2026-11-01 00:00 usr/lib/',
    'drwxr-xr-x 0/0 0 2026-11-01 00:00 usr/lib/coffer/',
    '-rw-r--r-- 0/0 1000 2026-11-01 00:00 usr/lib/coffer/boot.js',
    '-rwxr-xr-x 0/0 12 2026-11-01 00:00 usr/lib/coffer/node',
  ])
  execFileSync('tar', ['--extract', '--no-same-owner', '--file', archive, '--directory', place])
  assert.equal(readFileSync(join(place, 'usr/lib/coffer/boot.js'), 'utf8'), 'x'.repeat(1000))
  const long = new Map([[`${'long'.repeat(25)}.js`, directory]])
  assert.throws(() => makeTar(long, { prefix: '', time: TIME }), /too long for the archive/)
})

test('dpkg-deb(1) reads the package: its fields, its files, its settings and its scripts', needs('dpkg-deb'), (t) => {
  const place = makeDirectory(t)
  const file = join(place, 'coffer.deb')
  const deb = debOf(small())
  assert.ok(deb.equals(debOf(new Map([...small()].reverse()))), 'the same each time')
  writeFileSync(file, deb)
  const dpkgDeb = (...parameters: string[]) => execFileSync('dpkg-deb', parameters, { encoding: 'utf8' })
  assert.deepEqual(
    ['Package', 'Version', 'Architecture'].map((name) => dpkgDeb('--field', file, name).trim()),
    ['coffer', '1.2.3', 'arm64'],
  )
  dpkgDeb('--raw-extract', file, join(place, 'raw'))
  const read = (path: string) => readFileSync(join(place, 'raw', path), 'utf8')
  assert.equal(read('DEBIAN/conffiles'), '/etc/default/coffer\n')
  for (const name of ['postinst', 'prerm', 'postrm']) {
    assert.equal(read(`DEBIAN/${name}`), readFileSync(join(host, name), 'utf8'))
    execFileSync('sh', ['-n', join(place, 'raw/DEBIAN', name)])
  }
  assert.equal(read('usr/lib/systemd/system/coffer.service'), readFileSync(join(host, 'coffer.service'), 'utf8'))
  assert.equal(read('usr/share/doc/coffer/copyright'), 'one\nanother')
  execFileSync('md5sum', ['--check', '--quiet', 'DEBIAN/md5sums'], { cwd: join(place, 'raw') })
})

test('every setting of the package is one that Coffer knows', async () => {
  const { readSettings } = await import('../../boot/host/settings.ts')
  const lines = readFileSync(join(host, 'default'), 'utf8').match(/^#COFFER_.*$/gm)!
  const settings = Object.fromEntries(lines.map((line) => line.slice(1).split('=') as [string, string]))
  const { dataDirectory: _, releaseKeyPath, httpPort, etcdPath, ...others } = readSettings(settings)
  assert.equal(releaseKeyPath, '/etc/coffer/release.pub')
  assert.equal(httpPort, 8080)
  assert.equal(etcdPath, '/usr/bin/etcd')
  const { dataDirectory: __, releaseKeyPath: ___, httpPort: ____, etcdPath: _____, ...defaults } = readSettings({})
  assert.deepEqual(others, defaults, 'what stands there is what holds without it')
})

test('systemd takes the unit, and finds it well confined', needs('systemd-analyze'), (t) => {
  const place = makeDirectory(t)
  const unit = join(place, 'coffer.service')
  const text = readFileSync(join(host, 'coffer.service'), 'utf8')
  writeFileSync(unit, text.replaceAll('/usr/lib/coffer/node', process.execPath))
  execFileSync('systemd-analyze', ['verify', '--man=no', unit], { stdio: 'pipe' })
  // Of ten; 1.4 with systemd 252, most of it for the network, without which it would be of no use.
  execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', unit], { stdio: 'pipe' })
  const open = join(place, 'open.service')
  writeFileSync(open, text.replace(/^(?:Protect|Private|Restrict|SystemCall|Capability).*\n/gm, ''))
  assert.throws(() =>
    execFileSync('systemd-analyze', ['security', '--offline=true', '--threshold=20', open], { stdio: 'pipe' }),
  )
})
