// @test long 60
/** Code in messages: its colors, which a worker finds; hostile code, which must not hold a thread; and the button that copies it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { visitTopic } from './browser.ts'
import { untilColored } from './colored.ts'
import { openHouse } from './house.ts'
import { until } from './stored.ts'

const { browser, house } = await openHouse()

const PYTHON = 'def restore(path):\n    # from the spare box\n    return open(path, "rb").read()[:16]\n'
const CONTRAST_MIN = 4.5
const LOOK_MS = 100

interface Counts {
  started: number
  ended: number
}

const HOSTILE = '[a]('.repeat(2000) // takes the grammar of Markdown seconds

/** Painted parts of the blocks of code in the document, in order: color and text. */
const painted = (page: Page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('.code-block pre')].map((block) => {
      const all = [...CSS.highlights].flatMap(([name, ranges]) =>
        [...(ranges as unknown as Set<StaticRange>)]
          .filter(({ startContainer }) => block.contains(startContainer))
          .map(({ startContainer, startOffset, endOffset }) => ({
            ...{ name, at: startOffset },
            text: (startContainer as Text).data.slice(startOffset, endOffset),
          })),
      )
      return all.sort((a, b) => a.at - b.at).map(({ name, text }): [string, string] => [name, text])
    }),
  )

/** Runs in the page before its scripts. */
function countWorkers(): void {
  const counts = { started: 0, ended: 0 }
  globalThis.Worker = class extends Worker {
    constructor(url: string | URL) {
      super(url)
      counts.started++
    }
    override terminate() {
      super.terminate()
      counts.ended++
    }
  }
  Object.assign(globalThis, { counts })
}

const countsOf = (page: Page) => page.evaluate(() => (globalThis as unknown as { counts: Counts }).counts)

async function open(
  topic: string,
  isReady: (blocks: [string, string][][]) => boolean,
  dark = false,
  prepare = () => {},
) {
  const here = await visitTopic(browser, house, topic, { dark })
  const { page } = here
  await page.addInitScript(prepare)
  await page.reload()
  let blocks: [string, string][][] = []
  const look = async () => {
    blocks = await painted(page)
    return isReady(blocks)
  }
  const isColored = async (ms: number) => {
    await page.locator('.code-block').last().waitFor()
    return isSoon(look, ms)
  }
  await untilColored(isColored, () => page.reload())
  return { ...here, blocks }
}

async function isSoon(look: () => Promise<boolean>, ms: number): Promise<boolean> {
  for (const endMs = performance.now() + ms; performance.now() < endMs; await setTimeout(LOOK_MS))
    if (await look()) return true
  return false
}

const isLastColored = (blocks: [string, string][][]) => (blocks.at(-1)?.length ?? 0) > 0

test('code has colors, in light and dark readable ones, and its text is as it was written', async () => {
  await house.say('colors', `\`\`\`python\n${PYTHON}\`\`\``)
  for (const dark of [false, true]) {
    const { page, blocks, end } = await open('colors', isLastColored, dark)
    assert.equal(await page.locator('.code-block pre').textContent(), PYTHON)
    assert.equal(await page.locator('.code-block pre *').count(), 0)
    const [tokens] = blocks
    for (const token of [
      ['code-keyword', 'def'],
      ['code-title', 'restore'],
      ['code-comment', '# from the spare box'],
      ['code-string', '"rb"'],
      ['code-number', '16'],
    ])
      assert.ok(
        tokens!.some((one) => String(one) === String(token)),
        `${token} is not among ${JSON.stringify(tokens)}`,
      )
    const colors = await page.evaluate(() => {
      const pre = document.querySelector('.code-block pre')!
      const names = ['keyword', 'title', 'comment', 'string', 'number', 'type', 'deletion']
      const ground = getComputedStyle(document.querySelector('.code-block')!).backgroundColor
      return { ground, all: names.map((name) => getComputedStyle(pre, `::highlight(code-${name})`).color) }
    })
    assert.equal(new Set(colors.all).size, colors.all.length)
    for (const color of colors.all) {
      const contrast = contrastOf(color, colors.ground)
      assert.ok(contrast >= CONTRAST_MIN, `${color} on ${colors.ground}: ${contrast}`)
    }
    await end()
  }
})

test('hostile code and code of an unknown language stay plain; code after them has colors', async () => {
  await house.say('hostile', `\`\`\`text\nif (x) return "y"\n\`\`\``)
  await house.say(
    'hostile',
    `\`\`\`brainfuck\n+[-->-[>>+>-----<<]<--<---]>-.>>>+.>>..+++[.>]<<<<.+++.------.<<-.>>>>+.\n\`\`\``,
  )
  await house.say('hostile', `\`\`\`markdown\n${HOSTILE}\n\`\`\``)
  await house.say('hostile', `\`\`\`python\n${PYTHON}\`\`\``)
  const { page, blocks, end } = await open('hostile', isLastColored, false, countWorkers)
  assert.deepEqual(
    blocks.map((one) => one.length > 0),
    [false, false, false, true],
  )
  assert.ok((await page.locator('.code-block pre').nth(2).textContent()) === `${HOSTILE}\n`)
  const { started, ended } = await countsOf(page)
  assert.ok(started >= 2 && ended >= 1, `${started} workers were started, ${ended} ended`)
  await end()
})

test('after some hostile blocks a view colors no more code; another view does', async () => {
  await house.say('plain', 'no code')
  for (const number of [1, 2, 3, 4]) await house.say('many', `\`\`\`markdown\n${number} ${HOSTILE}\n\`\`\``)
  await house.say('calm', `\`\`\`python\n${PYTHON}\`\`\``)
  const { page, end } = await visitTopic(browser, house, 'plain')
  await page.addInitScript(countWorkers)
  await page.reload()
  const counts = () => countsOf(page)
  const go = (topic: string) =>
    page.evaluate((topic) => {
      location.hash = location.hash.replace(/[^/]*$/, topic)
    }, topic)
  await page.getByRole('article').waitFor()
  await go('many')
  await until(async () => (await counts()).ended >= 3, 'the workers are not ended')
  assert.equal((await counts()).started, 3)
  const isCalmColored = async (ms: number) => {
    await go('calm')
    return isSoon(async () => isLastColored(await painted(page)), ms)
  }
  await untilColored(isCalmColored, () => go('plain'))
  await end()
})

test('numbers in long blocks do not take the colors of the blocks after them', async () => {
  for (const _ of Array(4)) await house.say('numbers', `\`\`\`python\n${'1 '.repeat(4900)}\n\`\`\``)
  await house.say('numbers', `\`\`\`python\n${PYTHON.repeat(5)}\`\`\``)
  const { blocks, end } = await open('numbers', isLastColored)
  assert.deepEqual(
    blocks.map((one) => one.length > 0),
    [false, false, false, false, true],
  )
  await end()
})

test('an answer that came while the page was busy counts', async () => {
  await house.say('busy', `\`\`\`python\n${PYTHON}\`\`\``)
  // The time of the block is over when its answer has come and waits to be taken, as on a page that was busy until then.
  const { end } = await open('busy', isLastColored, false, () => {
    const BLOCK_MS = 200
    let endTime: (() => void) | null = null
    const set = globalThis.setTimeout as (act: TimerHandler, ms?: number, ...rest: unknown[]) => number
    Object.assign(globalThis, {
      setTimeout: (act: () => void, ms?: number, ...rest: unknown[]) => {
        if (ms !== BLOCK_MS) return set(act, ms, ...rest)
        endTime = act
        return 0
      },
    })
    Object.defineProperty(Worker.prototype, 'onmessage', {
      set(this: Worker, take: (event: MessageEvent) => void) {
        this.addEventListener('message', (event) => {
          if (endTime === null) return take(event) // the worker has started
          const { port1, port2 } = new MessageChannel()
          port1.onmessage = () => take(event)
          port2.postMessage(null)
          endTime()
          endTime = null
        })
      },
    })
  })
  await end()
})

test('the button that copies code is not under the toolbar of the message', async () => {
  await house.say('copies', 'before the code')
  await house.say('copies', `\`\`\`python\n${PYTHON}\`\`\``)
  for (const width of [1280, 360]) {
    const { page, end } = await visitTopic(browser, house, 'copies', { width })
    const message = page.getByRole('article').filter({ has: page.locator('.code-block') })
    await message.hover()
    await message.getByRole('toolbar').waitFor()
    const isCovered = await message.getByRole('button', { name: 'Copy', exact: true }).evaluate((button) => {
      const { left, top, width, height } = button.getBoundingClientRect()
      const points = [0.2, 0.8].flatMap((x) => [0.3, 0.7].map((y) => [left + x * width, top + y * height] as const))
      return points.some(([x, y]) => !button.contains(document.elementFromPoint(x, y)))
    })
    assert.equal(isCovered, false, `at ${width} px`)
    await message.getByRole('button', { name: 'Copy', exact: true }).click()
    await message.getByText('Copied.').waitFor()
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), PYTHON)
    await end()
  }
})

/** Contrast of two colors `rgb(...)`: WCAG 2.2. */
function contrastOf(one: string, other: string): number {
  const luminance = (color: string) => {
    const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((value) => {
      const part = Number(value) / 255
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const [light, dark] = [luminance(one), luminance(other)].sort((a, b) => b - a)
  return (light! + 0.05) / (dark! + 0.05)
}
