/**
 * Frames over 50 ms while a topic of 10,000 messages is scrolled to its first message and back in a browser, beside a topic that is
 * loaded as a whole and scrolled as fast, for as long. Rounds take turns in one window. Fails where the long topic has more than
 * 1.2 times as many of them a minute.
 *
 * Each frame scrolls on by the time since the one before, up to 50 ms. At the edge of the loaded messages it waits for more.
 *
 * node tools/bench/scroll.ts [--rounds=2] [--messages=10000]; it needs Chromium
 */

import { parseArgs } from 'node:util'
import { startBenchChat } from '../../test/chat/page/bench-chat.ts'
import { BROWSER_PACKAGES, startBrowser } from '../browser.ts'
import { OWNER, OWNER_PASSWORD } from './chat-serve.ts'
import { othersShare, writeResults } from './harness.ts'

const RATIO_MAX = 1.2
const FRAME_MS_MAX = 50
const PX_PER_S = 10_000 // some seventy messages a second
const STALL_MS_MAX = 60_000
const VIEW = { width: 1280, height: 860 }

interface Topic {
  address: string
  first: number
  newest: number
}

interface Scrolled {
  /** Frames of more than 50 ms. */
  slow: number
  frames: number
  ms: number
  /** Elements of the list at the end. */
  elements: number
}

/** Scrolls up to the first message and down to the newest, once, or with `forMs` again and again. Runs in the page. */
const SCROLL = `async ({ first, newest, forMs, speed, frameMsMax, stallMsMax }) => {
  const box = document.querySelector('.scroll-area')
  const has = (id) => box.querySelector('[data-id="' + id + '"]') !== null
  const nextFrame = () => new Promise(requestAnimationFrame)
  const start = await nextFrame()
  let [last, moved, isUp, turns, slow, frames] = [start, start, true, 0, 0, 0]
  while (forMs === null ? turns < 2 : last - start < forMs) {
    const now = await nextFrame()
    const gap = now - last
    last = now
    frames++
    if (gap > frameMsMax) slow++
    const before = box.scrollTop
    box.scrollTop += ((isUp ? -1 : 1) * speed * Math.min(gap, frameMsMax)) / 1000
    if (box.scrollTop !== before) moved = now
    if (now - moved > stallMsMax) throw new Error('The list does not scroll on')
    const left = isUp ? box.scrollTop : box.scrollHeight - box.clientHeight - box.scrollTop
    if (left >= 1 || !has(isUp ? first : newest)) continue
    isUp = !isUp
    turns++
  }
  return { slow, frames, ms: last - start, elements: box.querySelectorAll('*').length }
}`

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '2' }, messages: { type: 'string', default: '10000' } },
})
const [rounds, messages] = [Number(values.rounds), Number(values.messages)]
if (!(rounds >= 1 && messages >= 1)) throw new RangeError('--rounds, --messages: at least 1')

const browser = await startBrowser()
if (browser === null) {
  console.log(`Scrolling is not measured: install these Debian packages first: ${BROWSER_PACKAGES}`)
  process.exit()
}
const chat = await startBenchChat('long-topic.ts', messages)
try {
  const otherPrograms = await othersShare()
  const [long, still] = [topicOf('long'), topicOf('still')]
  const context = await browser.newContext({ ignoreHTTPSErrors: true, viewport: VIEW })
  const page = await context.newPage()
  await page.goto(`https://127.0.0.1:${chat.port}/`)
  await page.getByLabel('E-mail', { exact: true }).fill(OWNER.email)
  await page.getByLabel('Password', { exact: true }).fill(OWNER_PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('heading', { name: 'Inbox', level: 1 }).waitFor()
  let fetches = 0
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/messages?')) fetches++
  })

  async function open({ address, newest }: Topic): Promise<void> {
    await page.evaluate(`location.hash = ${JSON.stringify(address)}`)
    await page.locator(`[data-id="${newest}"]`).waitFor()
  }
  function scroll({ first, newest }: Topic, forMs: number | null): Promise<Scrolled> {
    const limits = { speed: PX_PER_S, frameMsMax: FRAME_MS_MAX, stallMsMax: STALL_MS_MAX }
    return page.evaluate(`(${SCROLL})(${JSON.stringify({ first, newest, forMs, ...limits })})`)
  }
  async function scrollLong(): Promise<Scrolled> {
    await open(long)
    return scroll(long, null)
  }
  async function scrollStill(forMs: number): Promise<Scrolled> {
    await open(still)
    await scroll(still, null) // loads all of it
    const before = fetches
    const scrolled = await scroll(still, forMs)
    if (fetches > before) throw new Error('The still list loads messages')
    return scrolled
  }

  const measured: { long: Scrolled; still: Scrolled }[] = []
  for (let round = 0; round < rounds; round++) {
    const last = measured.at(-1)
    if (last === undefined || round % 2 === 0) {
      const scrolled = await scrollLong()
      measured.push({ long: scrolled, still: await scrollStill(scrolled.ms) })
    } else {
      const scrolled = await scrollStill(last.long.ms)
      measured.push({ still: scrolled, long: await scrollLong() })
    }
  }
  const ratio = report(measured)
  writeResults('scroll', { otherPrograms, messages, rounds: measured, ratio })
  process.exitCode = ratio > RATIO_MAX ? 1 : 0
} finally {
  await browser.close()
  await chat.stop()
}

function topicOf(name: string): Topic {
  const [, address, first, newest] = new RegExp(`(#\\S+/${name}) from (\\d+) to (\\d+)`).exec(chat.printed)!
  return { address: address!, first: Number(first), newest: Number(newest) }
}

/** Returns the ratio that is judged. */
function report(measured: readonly { long: Scrolled; still: Scrolled }[]): number {
  console.log(`frames over ${FRAME_MS_MAX} ms, ${measured.length} rounds:   of all   a minute   elements`)
  const row = (kind: 'long' | 'still'): number => {
    const sum = (what: keyof Scrolled) => measured.reduce((total, round) => total + round[kind][what], 0)
    const perMinute = (sum('slow') * 60_000) / sum('ms')
    const columns = [
      String(sum('slow')).padStart(22),
      String(sum('frames')).padStart(9),
      perMinute.toFixed(1).padStart(11),
      (sum('elements') / measured.length).toFixed(0).padStart(11),
    ]
    console.log(`${kind.padEnd(9)}${columns.join('')}`)
    return perMinute
  }
  const [long, still] = [row('long'), row('still')]
  const ratio = long === 0 ? 0 : long / still
  console.log(`ratio ${ratio.toFixed(2)}: it is to be at most ${RATIO_MAX}`)
  return ratio
}
