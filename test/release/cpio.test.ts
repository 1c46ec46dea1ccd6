/** The archive reader beside GNU cpio and bsdcpio, in bounded memory, and the writer beside both. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import { NAME_BYTES_MAX, readArchive } from '../../firmware/release/cpio.ts'
import { makeArchive } from '../../tools/update-image.ts'
import { needs } from '../support/tools.ts'
import { entryBytes, goodImage, goodManifest, head, hex, inPieces, PAYLOAD, RELEASE } from './archives.ts'
import { openRig } from './rig.ts'

const PROGRAMS = ['cpio', 'bsdcpio'] as const
type Program = (typeof PROGRAMS)[number]

type File = [name: string, content: Uint8Array]

function makeDirectory(t: Pick<TestContext, 'after'>): string {
  const directory = mkdtempSync(join(tmpdir(), 'coffer-cpio-'))
  t.after(() => rmSync(directory, { recursive: true }))
  return directory
}

function run(program: Program, options: string[], cwd: string, input: Uint8Array | string): Uint8Array {
  const { status, stdout, stderr } = spawnSync(program, options, { cwd, input, maxBuffer: 1 << 28 })
  assert.equal(status, 0, `${program}: ${stderr}`)
  return stdout
}

function pack(program: Program, files: readonly File[], directory: string, options: string[] = []): Uint8Array {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  for (const [name, content] of files) writeFileSync(join(directory, name), content)
  return run(
    program,
    ['-o', '-H', 'newc', '--quiet', ...options],
    directory,
    files.map(([name]) => `${name}\n`).join(''),
  )
}

function unpack(program: Program, bytes: Uint8Array, directory: string): File[] {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory)
  run(program, ['-i', '-u', '--quiet'], directory, bytes)
  return readdirSync(directory).map((name): File => [name, readFileSync(join(directory, name))])
}

async function read(bytes: Uint8Array, size?: number): Promise<File[]> {
  const files: File[] = []
  for await (const { name, size: announced, content } of readArchive(inPieces(bytes, size).chunks)) {
    const whole = Buffer.concat(await Array.fromAsync(content))
    assert.equal(whole.length, announced)
    files.push([name, whole])
  }
  return files
}

const plain = (files: readonly File[]) => files.map(([name, content]) => [name, Buffer.from(content).toString('hex')])
const sorted = (files: readonly File[]) => plain(files).sort(([a], [b]) => (a! < b! ? -1 : 1))

const name = fc
  .stringMatching(new RegExp(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,${NAME_BYTES_MAX - 1}}$`))
  .filter((text) => text !== 'TRAILER!!!')
const files = fc.uniqueArray(fc.tuple(name, fc.uint8Array({ maxLength: 3000 })), {
  minLength: 1,
  maxLength: 8,
  selector: ([name]) => name,
})

for (const program of PROGRAMS) {
  test(`reads the same members as ${program} wrote, in their order`, needs(program), async (t) => {
    const directory = join(makeDirectory(t), 'files')
    const size = fc.integer({ min: 1, max: 700 })
    await fc.assert(
      fc.asyncProperty(files, size, async (files, size) => {
        assert.deepEqual(plain(await read(pack(program, files, directory), size)), plain(files))
      }),
      { numRuns: 60 },
    )
  })

  test(`${program} reads the same members as our tool wrote`, needs(program), async (t) => {
    const directory = join(makeDirectory(t), 'files')
    await fc.assert(
      fc.asyncProperty(files, async (files) => {
        const bytes = makeArchive(files.map(([name, bytes]) => ({ name, bytes })))
        assert.deepEqual(sorted(unpack(program, bytes, directory)), sorted(files))
        assert.deepEqual(plain(await read(bytes)), plain(files))
      }),
      { numRuns: 60 },
    )
  })

  test(`whatever is read of a damaged archive, ${program} reads too`, needs(program), async (t) => {
    const directory = join(makeDirectory(t), 'files')
    let accepted = 0
    // Digits too, so that many of the changes leave a header a header.
    const value = fc.oneof(fc.nat(255), fc.constantFrom(...Buffer.from('0123456789abcdefABCDEF')))
    const edits = fc.array(fc.tuple(fc.noBias(fc.nat(1_000_000)), value), { minLength: 1, maxLength: 2 })
    await fc.assert(
      fc.asyncProperty(files, edits, async (files, edits) => {
        const bytes = Buffer.from(makeArchive(files.map(([name, bytes]) => ({ name, bytes }))))
        for (const [place, value] of edits) bytes[place % bytes.length] = value
        let members: File[]
        try {
          members = await read(bytes)
        } catch (error) {
          assert.ok(error instanceof CofferError && error.code === 'invalid', String(error))
          return
        }
        accepted++
        // Of members of one name the last one stays on disk.
        const last = new Map(members.map(([name, content]) => [name, content]))
        assert.deepEqual(sorted(unpack(program, bytes, directory)), sorted([...last]))
      }),
      { numRuns: 300 },
    )
    assert.ok(accepted > 30, `only ${accepted} of 300 were readable`)
  })

  test(`an image packed by ${program} is taken`, needs(program), async (t) => {
    const directory = join(makeDirectory(t), 'files')
    const entries = [...head(goodManifest()), ...PAYLOAD].map(({ name, bytes }): File => [name, bytes!])
    for (const options of [[], ['-C', '5120'], ['-R', '0:0']]) {
      const { stager } = openRig(t)
      const image = pack(program, entries, directory, options)
      assert.equal(await stager.stage(inPieces(image).chunks), RELEASE.releaseNotes)
    }
  })
}

test('what GNU cpio writes of links, directories and paths is refused', needs('cpio'), async (t) => {
  const directory = makeDirectory(t)
  const pack = (script: string) =>
    spawnSync('sh', ['-ec', script], { cwd: directory, maxBuffer: 1 << 20 }).stdout as Uint8Array
  const refused: [script: string, message: RegExp][] = [
    ['ln -s /etc/passwd manifest.json; echo manifest.json | cpio -o -H newc --quiet', /is a symbolic link/],
    ['rm manifest.json; mkdir manifest.json; echo manifest.json | cpio -o -H newc --quiet', /is a directory/],
    ['touch a; ln a b; echo a | cpio -o -H newc --quiet', /is a hard link/],
    ['mkfifo pipe; echo pipe | cpio -o -H newc --quiet', /is a pipe/],
    ['touch manifest.json/x; echo manifest.json/x | cpio -o -H newc --quiet', /leads into a directory/],
    ['echo "$PWD/a" | cpio -o -H newc --quiet', /is absolute/],
    ['cd manifest.json; echo ../a | cpio -o -H newc --quiet', /leads out of the archive/],
    ['echo a | cpio -o -H crc --quiet', /crc form/],
    ['echo a | cpio -o -H odc --quiet', /odc form/],
    ['echo a | cpio -o --quiet', /binary form/],
    ['echo a | cpio -o -H newc --quiet | gzip', /compressed/],
    ['echo a | cpio -o -H tar --quiet', /not a cpio archive/],
  ]
  for (const [script, message] of refused) await assert.rejects(read(pack(script)), message, script)
})

test('an image is read in bounded memory, however large', async (t) => {
  const MIB = 1024 * 1024
  const { stager } = openRig(t)
  const size = 256 * MIB
  const large = { name: 'firmware.js', size, sha512: '0'.repeat(128) }
  const addon = { ...large, name: `linux-${process.arch}.node`, size: 1 }
  let peak = 0
  async function* chunks() {
    for (const entry of head({ ...RELEASE, members: [large, addon] })) yield entryBytes(entry)
    yield entryBytes({ name: 'firmware.js', fields: { filesize: hex(size) } })
    const piece = new Uint8Array(64 * 1024)
    for (let sent = 0; sent < size; sent += piece.length) {
      yield piece
      const { heapUsed, external, arrayBuffers } = process.memoryUsage()
      peak = Math.max(peak, heapUsed + external + arrayBuffers)
    }
  }
  const { heapUsed, external, arrayBuffers } = process.memoryUsage()
  await assert.rejects(stager.stage(chunks()), /The content of firmware.js does not match the manifest/)
  const grownMib = (peak - heapUsed - external - arrayBuffers) / MIB
  assert.ok(grownMib < 48, `${grownMib} MiB`)
})

test('every cut of a good image is refused, and every split of it is read', async (t) => {
  const image = goodImage()
  const { stager, files } = openRig(t)
  const used = Buffer.from(image).lastIndexOf('TRAILER!!!') + 'TRAILER!!!\0'.length
  for (let bytes = 0; bytes < used; bytes += 1 + (bytes % 211)) {
    await assert.rejects(stager.stage(inPieces(image.subarray(0, bytes), 100).chunks), CofferError, `${bytes} bytes`)
    assert.deepEqual(files(), [])
  }
  for (let size = 1; size < 1200; size += 97) {
    assert.equal(await stager.stage(inPieces(image, size).chunks), RELEASE.releaseNotes)
    await stager.cancel()
  }
})
