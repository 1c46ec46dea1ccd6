// @test long 60 slow
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { draw } from '../../tools/bench/chart.ts'
import { growthOf, LOCKS_MIN } from '../../tools/soak.ts'

/** Half of the locks tell of what is left behind at each; `make soak` takes all of them, and an hour. */
const [SECONDS, LOCKS] = process.env.COFFER_SLOW === undefined ? [15, LOCKS_MIN / 2] : [60, LOCKS_MIN]
const MINUTE = Array.from({ length: 120 }, (_, index) => index)

test('memory is flat when it stays, falls, or goes up and down as garbage is collected', () => {
  assert.equal(growthOf(MINUTE.map(() => 300)), null)
  assert.equal(growthOf(MINUTE.map((at) => 400 - at)), null)
  assert.equal(growthOf(MINUTE.map((at) => 300 + (at % 12) * 10)), null)
})

test('memory is not flat when it grows, all the time or in steps, also under the ups and downs of collections', () => {
  const grown = /^memory grew by \d+ MiB/
  assert.match(growthOf(MINUTE.map((at) => 300 + at / 2)) ?? '', grown)
  assert.match(growthOf(MINUTE.map((at) => (at < 60 ? 300 : 330))) ?? '', grown)
  assert.match(growthOf(MINUTE.map((at) => 300 + at / 2 + (at % 12) * 10)) ?? '', grown)
})

test('a run too short to tell is no success', () => {
  assert.match(growthOf([300, 300, 300]) ?? '', /too short/)
  assert.match(growthOf([300, 300, 300], 4) ?? '', /too short/)
  assert.equal(growthOf([300, 300, 300, 300], 4), null)
})

test(`${SECONDS} s of mixed load with ${LOCKS} locks have no error and leave memory flat`, async () => {
  const program = join(import.meta.dirname, '../../tools/soak.ts')
  const child = spawn(process.execPath, [program, `--seconds=${SECONDS}`, `--locks=${LOCKS}`], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  assert.equal(code, 0, output)
  assert.match(output, /no error, memory flat/)
  const locks = Number(/(\d+) locks and unlocks, [1-9]\d* signatures verified/.exec(output)?.[1])
  assert.ok(locks >= LOCKS, output)
})

test('the chart is drawn from results alone, the same each time, by the program too', (t) => {
  const row = { key: 'p256', connections: 1, requestsPerSecond: 1000 }
  const rows = ['ed25519', 'p256', 'rsa2048'].flatMap((key) =>
    ['coffer', 'nodeCrypto', 'bare'].flatMap((server) => [
      { ...row, key, server },
      { ...row, key, server, connections: 64, requestsPerSecond: 9000 },
    ]),
  )
  const results = { processor: 'A <fast> one', cores: 2, node: 'v24.21.0', rows }
  const chart = draw(results)
  assert.equal(chart, draw(results))
  assert.equal(chart.match(/<polyline/g)?.length, 9)
  assert.ok(chart.includes('A &lt;fast&gt; one') && !/NaN|undefined/.test(chart))
  const directory = mkdtempSync(join(tmpdir(), 'coffer-chart-'))
  t.after(() => rmSync(directory, { recursive: true }))
  const [from, to] = [join(directory, 'results.json'), join(directory, 'chart.svg')]
  writeFileSync(from, JSON.stringify(results))
  const program = join(import.meta.dirname, '../../tools/bench/chart.ts')
  execFileSync(process.execPath, [program, `--from=${from}`, `--to=${to}`])
  assert.equal(readFileSync(to, 'utf8'), chart)
})
