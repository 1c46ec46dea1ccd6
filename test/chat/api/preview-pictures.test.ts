/** Only what is a picture by its bytes is shown as one: contract section 6.3. */

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { crc32 } from 'node:zlib'
import { chatSuite } from '../support/suite.ts'

const { hamlet } = await chatSuite({ hamlet: 'member' })

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAACCAYAAACZgbYnAAAAEElEQVR4nGP4z8DwHwSRGQA9XgX7kbn6sAAAAABJRU5ErkJggg==',
  'base64',
)

/** The same with another header, whose checksum is right unless `isRight` says otherwise. */
function png(change: (header: Buffer) => void, isRight = true): Buffer {
  const bytes = Buffer.from(PNG)
  change(bytes)
  if (isRight) bytes.writeUInt32BE(crc32(bytes.subarray(12, 29)), 29)
  return bytes
}

async function shown(file: Uint8Array, name: string): Promise<string> {
  const { body } = await hamlet.upload('POST', '/user_uploads', file, {}, name)
  const content = `[a](${body.url}) ![b](${body.url})`
  return (await hamlet.post('/messages/render', { content })).rendered
}

it('files that are no pictures, or that no client could unpack, are linked', async () => {
  const files: [file: Uint8Array, name: string][] = [
    [Buffer.from('words'), 'words.png'],
    [Buffer.from('words'), 'words.webp'],
    [Buffer.alloc(0), 'empty.jpg'],
    [Buffer.from('....ftypavif'), 'words.avif'],
    [PNG.subarray(0, 24), 'cut.png'],
    [png(() => {}, false).fill(7, 29, 33), 'checksum.png'],
    [png((bytes) => bytes.writeUInt8(3, 24)), 'depth.png'],
    [png((bytes) => bytes.writeUInt8(5, 25)), 'color.png'],
    [png((bytes) => bytes.writeUInt32BE(0, 16)), 'flat.png'],
    [png((bytes) => bytes.writeUInt32BE(100_000, bytes.writeUInt32BE(100_000, 16))), 'bomb.png'],
  ]
  for (const [file, name] of files) assert.doesNotMatch(await shown(file, name), /<img|message_inline_image/, name)
  assert.match(await shown(PNG, 'tower.png'), /<img .*message_inline_image/s)
})

it('nor are they emoji or avatars', async () => {
  for (const [name, bytes] of Object.entries({ depth: png((one) => one.writeUInt8(3, 24)), cut: PNG.subarray(0, 24) }))
    assert.equal((await hamlet.upload('POST', `/realm/emoji/${name}`, bytes)).body.code, 'BAD_IMAGE', name)
})
