import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { describe, it } from 'node:test'
import { inflateSync } from 'node:zlib'
import { imageHeader } from '../../../../firmware/chat/realm/messages/images.ts'
import {
  AVATAR_MEDIUM_PX,
  AVATAR_PX,
  generatedAvatar,
} from '../../../../firmware/chat/realm/objects/generated-avatar.ts'

const seed = (name: string) => createHash('sha256').update(name).digest()

function rows(file: Uint8Array, sizePx: number): Uint8Array[] {
  const bytes = Buffer.from(file)
  const at = bytes.indexOf('IDAT')
  const pixels = inflateSync(bytes.subarray(at + 4, at + 4 + bytes.readUInt32BE(at - 4)))
  return Array.from({ length: sizePx }, (_, y) => pixels.subarray(y * (sizePx + 1) + 1, (y + 1) * (sizePx + 1)))
}

describe('generated avatars', () => {
  it('are PNG pictures of the two sizes', () => {
    for (const px of [AVATAR_PX, AVATAR_MEDIUM_PX]) {
      assert.deepEqual(imageHeader(generatedAvatar(seed('a'), px)), { type: 'png', width: px, height: px })
    }
  })

  it('are the same on both sides, with a margin around', () => {
    const picture = rows(generatedAvatar(seed('hamlet'), AVATAR_PX), AVATAR_PX)
    assert.ok(picture[0]!.every((pixel) => pixel === 0))
    const middle = (row: number, column: number) =>
      picture[Math.round((row + 1) * (100 / 6))]![Math.round((column + 1) * (100 / 6))]
    for (const row of [0, 1, 2, 3, 4]) {
      assert.equal(middle(row, 0), middle(row, 4))
      assert.equal(middle(row, 1), middle(row, 3))
    }
    assert.ok(picture.some((row) => row.includes(1)))
  })

  it('are always the same for one account and hardly ever for two', () => {
    const names = Array.from({ length: 200 }, (_, index) => `user ${index}`)
    const pictures = names.map((name) => Buffer.from(generatedAvatar(seed(name), 20)).toString('base64'))
    assert.equal(new Set(pictures).size, names.length)
    assert.equal(Buffer.from(generatedAvatar(seed('user 7'), 20)).toString('base64'), pictures[7])
  })
})
