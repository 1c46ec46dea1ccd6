/**
 * How long a browser takes to the first view of the page, beside an empty page with a heading from a bare server: a new
 * connection, nothing kept from before, in turns. `node tools/bench/page.ts [--rounds 10]`; it needs Chromium.
 */

import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { BROWSER_PACKAGES, startBrowser } from '../browser.ts'
import { buildConsole } from '../build-console.ts'
import { bundleFor, median, othersShare, startCoffer, writeResults } from './harness.ts'

const EMPTY = '<!doctype html><html lang="en"><title>Empty</title><h1>Empty</h1></html>'
/** Milliseconds from the navigation to the frame that shows a heading. Runs in the page. */
const WATCH = `globalThis.firstView = new Promise((done) => {
  const look = () => requestAnimationFrame(document.querySelector('h1') ? () => done(performance.now()) : look)
  look()
})`

const { values } = parseArgs({ options: { rounds: { type: 'string', default: '10' } } })
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1) throw new RangeError('--rounds: at least 1')

const browser = await startBrowser()
if (browser === null) {
  console.log(`The page is not measured: install these Debian packages first: ${BROWSER_PACKAGES}`)
  process.exit()
}
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
await bundleFor(join(directory, 'program'))
const {
  scripts: [script],
  css,
} = await buildConsole()
const { key, cert } = await makeTlsIdentity(systemRandom)
const bare = createServer({ key: Buffer.from(key), cert }, (_, response) => {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(EMPTY)
})
await new Promise<void>((done) => bare.listen(0, '127.0.0.1', done))
const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'))
try {
  const otherPrograms = await othersShare()
  const emptyPort = (bare.address() as AddressInfo).port
  await firstView(emptyPort) // the browser's own first time
  const times: { empty: number; page: number }[] = []
  for (let round = 0; round < rounds; round++)
    times.push({ empty: await firstView(emptyPort), page: await firstView(coffer.port) })
  const [empty, page] = [median(times.map((time) => time.empty)), median(times.map((time) => time.page))]
  const ratio = median(times.map((time) => time.page / time.empty))
  const bytes = { script: Buffer.byteLength(script!.text), style: Buffer.byteLength(css.text) }
  console.log('first view in a browser   page ms   empty ms   ratio   (medians)')
  const row = [page.toFixed(0).padStart(9), empty.toFixed(0).padStart(11), ratio.toFixed(2).padStart(8)]
  console.log(`${`${bytes.script} + ${bytes.style} bytes`.padEnd(24)}${row.join('')}`)
  writeResults('page', { otherPrograms, bytes, ratio, times })
} finally {
  await browser.close()
  bare.close()
  await coffer.stop()
}

async function firstView(port: number): Promise<number> {
  const context = await browser!.newContext({ ignoreHTTPSErrors: true })
  const page = await context.newPage()
  await page.addInitScript({ content: WATCH })
  await page.goto(`https://127.0.0.1:${port}/`)
  const time = (await page.evaluate('globalThis.firstView')) as number
  await context.close()
  return time
}
