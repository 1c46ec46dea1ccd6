/** Size and imports of the page, and its parts that need no browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytes, duration, fileTime, time, timestamp } from '../../firmware/console/format.ts'
import { readRoute, to } from '../../firmware/console/routes.ts'
import { HEIGHT, rates, sparkPath, WIDTH } from '../../firmware/console/series.ts'
import { buildConsole } from '../../tools/build-console.ts'

const KB = 1000

test('the page has at most 120 KB of script, 60 KB more on demand, 20 KB of style, and the same bytes each time', async () => {
  const [first, second] = [await buildConsole(), await buildConsole()]
  const [main, onDemand, ...others] = first.scripts.map(({ text }) => Buffer.byteLength(text))
  assert.ok(main! <= 120 * KB, `${main} bytes of script`)
  assert.ok(onDemand! <= 60 * KB, `${onDemand} bytes of script on demand`)
  assert.deepEqual(others, [])
  assert.ok(Buffer.byteLength(first.css.text) <= 20 * KB, `${Buffer.byteLength(first.css.text)} bytes of style`)
  assert.deepEqual([first.html, first.scripts, first.css], [second.html, second.scripts, second.css])
  assert.deepEqual(
    [...first.html.matchAll(/\/console\/([\w.]+)/g)].map(([, name]) => name),
    [first.css.name, first.scripts[0]!.name],
  )
  assert.doesNotMatch(first.html, /<style|style=|<script>|onload|https?:(?!\/\/www\.w3\.org)/)
})

test('the page is made of itself, firmware/client, firmware/web, base/defined.ts and preact, and client of itself', async () => {
  const { metafile } = await buildConsole()
  for (const [file, { imports }] of Object.entries(metafile.inputs)) {
    assert.match(
      file,
      /^(?:firmware\/(?:(?:console|client|web)\/|base\/defined\.ts$)|node_modules\/(?:preact|@preact\/signals|@preact\/signals-core)\/)/,
    )
    if (!file.startsWith('firmware/client/')) continue
    for (const { path } of imports) assert.match(path, /firmware\/(client\/|web\/jsx\.ts$)/, `${file} imports ${path}`)
  }
})

test('numbers, times and spans as people read them', () => {
  assert.deepEqual([0, 999, 1000, 999_499, 999_500, 1_234_567, 5e12].map(bytes), [
    '0 B',
    '999 B',
    '1.0 kB',
    '999 kB',
    '1.0 MB',
    '1.2 MB',
    '5.0 TB',
  ])
  assert.deepEqual([0, 1, 59.6, 3600, 90_061, 172_800].map(duration), [
    '0 seconds',
    '1 second',
    '1 minute',
    '1 hour',
    '1 day 1 hour',
    '2 days',
  ])
  const moment = new Date('2026-11-24T10:00:00.123Z')
  assert.equal(time(moment), '2026-11-24 10:00:00 UTC')
  assert.equal(time('2026-11-24T10:00:00Z'), '2026-11-24 10:00:00 UTC')
  assert.equal(timestamp(moment), '2026-11-24T10:00:00Z')
  assert.equal(fileTime(moment), '2026-11-24T100000Z')
})

test('a fragment is a route, whatever somebody typed', () => {
  const read = (fragment: string) => {
    const { path, query } = readRoute(fragment)
    return [path, `${query}`]
  }
  assert.deepEqual(read(''), [[], ''])
  assert.deepEqual(read('#/keys/web-key?begins=a'), [['keys', 'web-key'], 'begins=a'])
  assert.deepEqual(read(to('users', 'branch~a/b?c')), [['users', 'branch~a/b?c'], ''])
  assert.deepEqual(read('#/keys/%zz'), [['keys', '%zz'], ''])
})

test('a small line goes from edge to edge, the largest value on top, and none leaves the picture', () => {
  assert.equal(sparkPath([]), '')
  assert.equal(sparkPath([7]), '')
  assert.equal(sparkPath([0, 10]), 'M0.00 30.00L100.00 0.00')
  assert.equal(sparkPath([5, 5, 5]), 'M0.00 0.00L50.00 0.00L100.00 0.00')
  assert.equal(sparkPath([0, 0]), 'M0.00 30.00L100.00 30.00') // nothing happens: on the ground, no division by nothing
  assert.equal(sparkPath([-1, 1]), 'M0.00 30.00L100.00 0.00')
  const hour = Array.from({ length: 720 }, (_, at) => Math.sin(at) * 1e12)
  const points = [...sparkPath(hour).matchAll(/[ML](-?[\d.]+) (-?[\d.]+)/g)].map(([, x, y]) => [Number(x), Number(y)])
  assert.equal(points.length, 720)
  for (const [x, y] of points) assert.ok(x! >= 0 && x! <= WIDTH && y! >= 0 && y! <= HEIGHT, `${x} ${y}`)
})

test('a rate is what a counter gained a second; a restart is no loss', () => {
  const taken = [0, 10, 40, 5, 5].map((total, at) => ({ at: at * 5000, numbers: { total } }))
  const total = (numbers: Readonly<Record<string, number>>) => numbers.total ?? 0
  assert.deepEqual(rates(taken, total), [2, 6, 0, 0])
  assert.deepEqual(rates(taken.slice(0, 1), total), [])
})
