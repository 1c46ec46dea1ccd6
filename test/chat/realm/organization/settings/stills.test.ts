// @test short slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, deflateSync } from 'node:zlib'
import fc from 'fast-check'
import { imageHeader } from '../../../../../firmware/chat/realm/messages/images.ts'
import { stillOf } from '../../../../../firmware/chat/realm/organization/settings/stills.ts'

const RUNS = process.env.COFFER_SLOW === undefined ? 3000 : 1_000_000

const [RED, GREEN, BLUE] = [0, 1, 2] as const

/** Frames of one pixel each, of a color of the table; every other one has a table of its own. */
function gif(...frames: number[]): Buffer {
  const table = '800000008000000080000000'
  const image = (color: number, index: number) => [
    '21f9040a0a000000', // shown for a tenth of a second
    index % 2 === 1 ? `2c0000000001000100 81${table}` : '2c000000000100010000',
    `02 02${(0x44 | (color << 3)).toString(16)}01 00`,
  ]
  const loop = `21ff0b${Buffer.from('NETSCAPE2.0').toString('hex')}0301000000`
  const parts = ['474946383961', `01000100 910000${table}`, loop, ...frames.flatMap(image), '3b']
  return Buffer.from(parts.join('').replaceAll(' ', ''), 'hex')
}

function png(...frames: number[]): Buffer {
  const chunk = (type: string, data: Uint8Array) => {
    const body = Buffer.concat([Buffer.from(type), data])
    return Buffer.concat([u32(data.length), body, u32(crc32(body))])
  }
  const pixels = (color: number) =>
    deflateSync(Uint8Array.of(0, ...[RED, GREEN, BLUE].map((one) => 128 * +(one === color))))
  const control = (number: number) =>
    chunk('fcTL', Buffer.concat([...[number, 1, 1, 0, 0].map((value) => u32(value)), Uint8Array.of(0, 1, 0, 10, 0, 0)]))
  const [first, ...others] = frames as [number, ...number[]]
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    chunk('IHDR', Buffer.concat([u32(1), u32(1), Uint8Array.of(8, 2, 0, 0, 0)])),
    ...(others.length > 0 ? [chunk('acTL', Buffer.concat([u32(frames.length), u32(0)])), control(0)] : []),
    chunk('IDAT', pixels(first)),
    ...others.flatMap((color, index) => [
      control(2 * index + 1),
      chunk('fdAT', Buffer.concat([u32(2 * index + 2), pixels(color)])),
    ]),
    chunk('IEND', new Uint8Array()),
  ])
}

/** Content of frames is not read: one byte each here, so that each is padded. */
function webp(...frames: number[]): Buffer {
  const chunk = (type: string, data: Uint8Array) => {
    const padding = new Uint8Array(data.length % 2)
    return Buffer.concat([Buffer.from(type), u32(data.length, true), data, padding])
  }
  const frame = (color: number) =>
    chunk('ANMF', Buffer.concat([new Uint8Array(16), chunk('VP8L', Uint8Array.of(color))]))
  const chunks = Buffer.concat([
    chunk('VP8X', Uint8Array.of(2, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
    chunk('ANIM', new Uint8Array(6)),
    ...frames.map(frame),
  ])
  return Buffer.concat([Buffer.from('RIFF'), u32(chunks.length + 4, true), Buffer.from('WEBP'), chunks])
}

function u32(value: number, isLittle = false): Buffer {
  const bytes = Buffer.alloc(4)
  isLittle ? bytes.writeUInt32LE(value) : bytes.writeUInt32BE(value)
  return bytes
}

const KINDS = { gif, png, webp }

for (const [kind, make] of Object.entries(KINDS))
  test(`the still of a ${kind} is the file that has its first frame alone; what does not move has none`, () => {
    for (const others of [[GREEN], [BLUE, GREEN, RED]]) {
      const still = stillOf(make(RED, ...others))
      assert.deepEqual(still && Buffer.from(still), make(RED))
    }
    assert.equal(stillOf(make(RED)), null)
  })

test('a GIF or WebP that ends too early, and what is no picture, has no still', () => {
  assert.equal(stillOf(gif(RED, GREEN).subarray(0, gif(RED).length - 1)), null)
  assert.equal(stillOf(webp(RED, GREEN).subarray(0, webp(RED).length)), null)
  assert.equal(stillOf(Buffer.from('GIF89a')), null)
  assert.equal(stillOf(new Uint8Array()), null)
})

test(`whatever a file is, its still is of the same kind and size, and does not move; ${RUNS} files`, () => {
  const file = fc.constantFrom(...Object.values(KINDS).map((make) => make(RED, GREEN, BLUE)))
  const damage = fc.array(fc.tuple(fc.nat(200), fc.nat(255)), { maxLength: 4 })
  const cut = fc.nat(300)
  let stills = 0
  fc.assert(
    fc.property(file, damage, cut, (whole, changes, length) => {
      const bytes = Buffer.from(whole.subarray(0, length))
      for (const [at, value] of changes) if (at < bytes.length) bytes[at] = value
      const still = stillOf(bytes)
      if (still === null) return
      stills++
      assert.deepEqual(imageHeader(still), imageHeader(bytes))
      assert.equal(stillOf(still), null)
      assert.ok(still.length <= bytes.length)
    }),
    { numRuns: RUNS },
  )
  assert.ok(stills > 0)
})
