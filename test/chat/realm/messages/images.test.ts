import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { imageHeader } from '../../../../firmware/chat/realm/messages/images.ts'
import { png } from '../../../../firmware/chat/realm/objects/avatar-png.ts'

const hex = (text: string) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')
const latin = (text: string) => Buffer.from(text, 'latin1')

const segment = (marker: number, data: Uint8Array) => {
  const head = Buffer.from([0xff, marker, 0, 0])
  head.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([head, data])
}
const frame = (marker: number, width: number, height: number) => {
  const data = Buffer.from([8, 0, 0, 0, 0, 3, 1, 0x22, 0])
  data.writeUInt16BE(height, 1)
  data.writeUInt16BE(width, 3)
  return segment(marker, data)
}
const exif = (orientation: number, order: 'II' | 'MM') => {
  const little = order === 'II'
  const body = little
    ? hex(`4949 2a00 08000000 0100 1201 0300 01000000 0${orientation}00 0000 00000000`)
    : hex(`4d4d 002a 00000008 0001 0112 0003 00000001 000${orientation} 0000 00000000`)
  return segment(0xe1, Buffer.concat([latin('Exif\0\0'), body]))
}
const jpeg = (...parts: Uint8Array[]) => Buffer.concat([hex('ffd8'), ...parts, hex('ffd9 0000 0000 0000 0000')])
const webp = (kind: string, rest: string) => {
  const body = Buffer.concat([latin('WEBP'), latin(kind), hex('0a000000'), hex(rest)])
  const head = latin('RIFF\0\0\0\0')
  head.writeUInt32LE(body.length, 4)
  return Buffer.concat([head, body])
}

const PICTURES: [string, Uint8Array, string, number, number][] = [
  ['PNG', png(7, [[1, 2, 3]], () => new Uint8Array(7)), 'png', 7, 7],
  ['GIF', hex('474946383961 2c01 c800 f00000'), 'gif', 300, 200],
  ['WebP with a header', webp('VP8X', '10000000 8f0100 2b0100'), 'webp', 400, 300],
  ['WebP without loss', webp('VP8L', '2f 8f c1 4a 00 0000000000'), 'webp', 400, 300],
  ['WebP with loss', webp('VP8 ', '300100 9d012a 9001 2c01'), 'webp', 400, 300],
  ['JPEG', jpeg(segment(0xe0, latin('JFIF\0')), frame(0xc0, 640, 480)), 'jpeg', 640, 480],
  ['progressive JPEG after its tables', jpeg(segment(0xc4, hex('00')), frame(0xc2, 640, 480)), 'jpeg', 640, 480],
  ['JPEG with filled spaces', jpeg(hex('ffffff'), frame(0xc0, 640, 480)), 'jpeg', 640, 480],
  ['JPEG that stands upright', jpeg(exif(1, 'II'), frame(0xc0, 640, 480)), 'jpeg', 640, 480],
  ['JPEG turned once', jpeg(exif(6, 'II'), frame(0xc0, 640, 480)), 'jpeg', 480, 640],
  ['JPEG turned once, of the other byte order', jpeg(exif(8, 'MM'), frame(0xc0, 640, 480)), 'jpeg', 480, 640],
]

describe('headers of pictures', () => {
  for (const [name, bytes, type, width, height] of PICTURES) {
    it(`a ${name} has its size`, () => assert.deepEqual(imageHeader(bytes), { type, width, height }))
  }

  it('a cut file has no size, wherever it is cut before that', () => {
    for (const [name, bytes] of PICTURES) {
      for (let length = 0; length < 10; length++) assert.equal(imageHeader(bytes.subarray(0, length)), null, name)
      for (let length = 10; length < bytes.length; length++) imageHeader(bytes.subarray(0, length))
    }
  })

  it('what is no picture, or none of any size, is none', () => {
    for (const bytes of [
      latin('<svg width="10" height="10">'),
      latin('GIF89a\0\0\0\0\0\0'),
      hex('ffd8 0000 0000 0000 0000 0000'),
      jpeg(hex('ffe0 0000 00000000000000000000')),
      new Uint8Array(),
    ]) {
      assert.equal(imageHeader(bytes), null)
    }
  })

  it('any bytes, and any change of a picture, give a size or none', () => {
    const changed = fc
      .tuple(fc.nat(PICTURES.length - 1), fc.array(fc.tuple(fc.nat(60), fc.nat(255)), { maxLength: 6 }))
      .map(([index, changes]) => {
        const bytes = Buffer.from(PICTURES[index]![1])
        for (const [at, value] of changes) bytes[at % bytes.length] = value
        return bytes
      })
    fc.assert(
      fc.property(fc.oneof(changed, fc.uint8Array({ maxLength: 80 })), (bytes) => {
        const found = imageHeader(bytes)
        assert.ok(found === null || (found.width > 0 && found.height > 0))
      }),
      { numRuns: 2000 },
    )
  })
})
