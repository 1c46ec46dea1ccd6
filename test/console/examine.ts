/** Findings of axe-core in a view, and whether it scrolls sideways. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const HEIGHT = 900

/** The view as it is now, light and dark, narrow and wide. */
export async function examineAll(page: Page, what: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [320, 1400]) {
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize({ width, height: HEIGHT })
      await examine(page, `${what}, ${colorScheme}, ${width} wide`)
    }
}

export async function examine(page: Page, what: string): Promise<void> {
  await page.waitForFunction(() => !document.body.textContent.includes('Loading…'))
  // By the debugger's hand: the page's policy lets nobody else bring a script.
  await page.evaluate(AXE)
  const found = await page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import('axe-core') }
    const { violations } = await axe.run(document, { resultTypes: ['violations'] })
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html, failureSummary }) => `${html} ${failureSummary}`)
          .join('; ')
          .slice(0, 600)}`,
    )
  })
  assert.deepEqual(found, [], what)
  const over = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
  assert.equal(over, 0, `${what} scrolls sideways`)
}
