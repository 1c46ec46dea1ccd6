/**
 * Watches a list of messages in a browser: at each frame, as it is painted, it compares the places of messages in sight with those of the
 * frame before. A message moves on its own where no scrolling that the test asked for explains it.
 */

import assert from 'node:assert/strict'
import type { Page } from 'playwright-core'

const STEP_MS_MAX = 60_000

export interface Step {
  /** How far the page may scroll: pixels, positive towards older messages. */
  asked: number
  /** The page may scroll less than was asked for, but this far. */
  least?: number
  /** The first or the newest message of all. */
  edgeId: number
  act(): Promise<void>
}

interface Watched {
  /** Movements that nothing explains. */
  readonly faults: readonly string[]
  readonly frames: number
  readonly messagesMax: number
  readonly elementsMax: number
  /** Ids of the messages that were in sight. */
  readonly seen: number
}

interface Watch {
  /** Null after the deadline. */
  step: Promise<'over' | 'done' | null>
  /** Distance that messages in sight have moved down. */
  moved: number
  asked: number
  faults: string[]
  frames: number
  messagesMax: number
  elementsMax: number
  seen: Set<number>
}

export async function watchList(page: Page): Promise<void> {
  await page.evaluate(() => {
    const TOLERANCE_PX = 1
    const watch: Watch = {
      ...{ step: Promise.resolve(null), moved: 0, asked: 0, faults: [], frames: 0, messagesMax: 0, elementsMax: 0 },
      seen: new Set<number>(),
    }
    ;(globalThis as unknown as { listWatch: Watch }).listWatch = watch
    let before: ReadonlyMap<number, number> = new Map()

    /** Where the contents of messages in sight begin. */
    function places(box: Element): ReadonlyMap<number, number> {
      const view = box.getBoundingClientRect()
      const found = new Map<number, number>()
      for (const article of box.querySelectorAll<HTMLElement>('[data-id]')) {
        const { top, bottom } = article.getBoundingClientRect()
        const content = article.querySelector('.content')
        if (bottom > view.top && top < view.bottom && content !== null)
          found.set(Number(article.dataset.id), content.getBoundingClientRect().top)
      }
      return found
    }

    /** True if the test has asked for this distance, which is asked for no longer. */
    function isExplained(by: number): boolean {
      const { asked } = watch
      if (Math.sign(by) !== Math.sign(asked) || Math.abs(by) > Math.abs(asked) + TOLERANCE_PX) return false
      watch.asked = Math.abs(by) > Math.abs(asked) ? 0 : asked - by
      return true
    }

    function look(): void {
      const box = document.querySelector('.scroll-area')
      if (box === null) return
      const now = places(box)
      const distances = [...now].flatMap(([id, top]) => {
        const last = before.get(id)
        return last === undefined ? [] : [top - last]
      })
      const least = Math.min(...distances)
      const most = Math.max(...distances)
      const where = `frame ${watch.frames}, first in sight ${[...now.keys()][0]}, ${watch.asked} asked`
      if (distances.length === 0 && before.size > 0) {
        watch.faults.push(`${where}: all left the view`)
      } else if (distances.length > 0) {
        if (most - least > TOLERANCE_PX) watch.faults.push(`${where}: by ${least} and by ${most}`)
        if (Math.max(Math.abs(least), Math.abs(most)) > TOLERANCE_PX && !isExplained(least))
          watch.faults.push(`${where}: by ${least}`)
        watch.moved += least
      }
      for (const id of now.keys()) watch.seen.add(id)
      watch.frames++
      watch.messagesMax = Math.max(watch.messagesMax, box.querySelectorAll('[data-id]').length)
      watch.elementsMax = Math.max(watch.elementsMax, document.getElementsByTagName('*').length)
      before = now
    }

    // The last observer of a frame sees what is painted: those of the page have acted before it.
    const next = () => {
      const observer = new ResizeObserver(() => {
        observer.disconnect()
        look()
        requestAnimationFrame(next)
      })
      observer.observe(document.body)
    }
    requestAnimationFrame(next)
  })
}

/** Scrolls. Resolves once the page has scrolled that far and has messages for the next step, or with true once it shows the edge. */
export async function scroll(page: Page, { asked, edgeId, act, least = asked }: Step): Promise<boolean> {
  await page.evaluate(
    ({ asked, least, edgeId, waitMs }) => {
      const { listWatch: watch } = globalThis as unknown as { listWatch: Watch }
      const from = watch.moved
      const deadline = performance.now() + waitMs
      const isUp = asked > 0
      const look = (): 'over' | 'done' | null => {
        const box = document.querySelector('.scroll-area')
        if (box === null) return null
        const left = isUp ? box.scrollTop : box.scrollHeight - box.scrollTop - box.clientHeight
        const hasEdge = box.querySelector(`[data-id="${edgeId}"]`) !== null
        if (hasEdge && left < 1) return 'over'
        const by = (watch.moved - from) * (isUp ? 1 : -1)
        const isDone = by >= Math.abs(least) - 1
        return isDone && (hasEdge || left >= box.clientHeight) ? 'done' : null
      }
      watch.asked = asked
      watch.step = new Promise((resolve) => {
        const next = () => {
          const state = look()
          if (state !== null || performance.now() > deadline) resolve(state)
          else requestAnimationFrame(next)
        }
        requestAnimationFrame(next)
      })
    },
    { asked, least, edgeId, waitMs: STEP_MS_MAX },
  )
  await act()
  const result = await page.evaluate(() => (globalThis as unknown as { listWatch: Watch }).listWatch.step)
  if (result === null) assert.fail(`the page does not scroll: ${await stateOf(page)}`)
  return result === 'over'
}

/** For the message of a failure. */
const stateOf = (page: Page): Promise<string> =>
  page.evaluate(() => {
    const { moved, asked, frames, faults } = (globalThis as unknown as { listWatch: Watch }).listWatch
    const box = document.querySelector('.scroll-area')
    const ids = [...document.querySelectorAll<HTMLElement>('[data-id]')].map(({ dataset }) => dataset.id)
    const place = { top: box?.scrollTop, height: box?.scrollHeight, view: box?.clientHeight }
    return JSON.stringify({
      moved,
      asked,
      frames,
      place,
      first: ids[0],
      newest: ids.at(-1),
      faults: faults.slice(0, 20),
    })
  })

export const watched = (page: Page): Promise<Watched> =>
  page.evaluate(() => {
    const { faults, frames, messagesMax, elementsMax, seen } = (globalThis as unknown as { listWatch: Watch }).listWatch
    return { faults, frames, messagesMax, elementsMax, seen: seen.size }
  })
