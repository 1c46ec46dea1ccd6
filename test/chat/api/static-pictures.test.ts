/** Pictures that every organization has: contract section 3.9. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32, inflateSync } from 'node:zlib'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const fetched = (path: string, method = 'GET') =>
  rig.chat.api.request(`http://chat.example${path}`, { method, headers: { host: 'chat.example' } })

/** The pixels of an indexed PNG of 8 bits, after a check of all its chunks: W3C PNG, third edition, sections 5, 7 and 11. */
function decoded(file: Buffer): { width: number; height: number; colors: Buffer; pixels: number[][] } {
  assert.equal(file.subarray(0, 8).toString('latin1'), '\x89PNG\r\n\x1a\n')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < file.length; ) {
    const end = at + 8 + file.readUInt32BE(at)
    assert.equal(file.readUInt32BE(end), crc32(file.subarray(at + 4, end)))
    chunks.set(file.toString('latin1', at + 4, at + 8), file.subarray(at + 8, end))
    at = end + 4
  }
  assert.equal([...chunks.keys()].at(-1), 'IEND')
  const header = chunks.get('IHDR')!
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  assert.deepEqual([...header.subarray(8)], [8, 3, 0, 0, 0])
  const rows = inflateSync(chunks.get('IDAT')!)
  assert.equal(rows.length, height * (width + 1))
  const colors = chunks.get('PLTE')!
  const pixels = Array.from({ length: height }, (_, y) => {
    const row = [...rows.subarray(y * (width + 1), (y + 1) * (width + 1))]
    assert.equal(row.shift(), 0)
    assert.ok(row.every((index) => index < colors.length / 3))
    return row
  })
  return { width, height, colors, pixels }
}

async function picture(path: string): Promise<Buffer> {
  const response = await fetched(path)
  assert.deepEqual(
    [response.status, ...['content-type', 'cache-control'].map((name) => response.headers.get(name))],
    [200, 'image/png', 'public, max-age=86400'],
  )
  const bytes = Buffer.from(await response.arrayBuffer())
  const head = await fetched(path, 'HEAD')
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(bytes.length)])
  return bytes
}

test('a rendered :zulip: names a picture of 64 by 64 pixels that everybody can fetch', async () => {
  const { rendered } = await hamlet.post('/messages/render', { content: ':zulip:' })
  const path = /<img [^>]*src="([^"]*)"/.exec(rendered)![1]!
  assert.equal(path, '/static/generated/emoji/images/emoji/unicode/zulip.png')
  const { width, height, pixels } = decoded(await picture(path))
  assert.deepEqual([width, height], [64, 64])
  assert.equal(new Set(pixels.flat()).size, 3)
  const bytes = await picture(path)
  assert.equal(bytes[bytes.indexOf('tRNS') + 4 + pixels[0]![0]!], 0) // the corner is transparent
})

test('an organization without an icon has a picture of its own origin', async () => {
  const { realm_icon } = (await rig.anonymous('GET', '/server_settings')).body
  const { snapshot } = await hamlet.register({ fetch_event_types: ['realm'] })
  assert.equal(snapshot.realm_icon_source, 'G')
  assert.equal(realm_icon, `https://chat.example${snapshot.realm_icon_url}`)
  const { width, height, pixels } = decoded(await picture(snapshot.realm_icon_url))
  assert.deepEqual([width, height], [100, 100])
  assert.equal(new Set(pixels.flat()).size, 2)
})
