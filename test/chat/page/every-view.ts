/** A house with something in each view, and the addresses of all views. */

import type { Page } from 'playwright-core'
import { organizationSections, settingsSections } from '../../../firmware/chat-page/words/en.ts'
import { OWNER } from '../support/process.ts'
import { addBen } from './ben.ts'
import type { House } from './house.ts'

export const VIEW_HEIGHT = 740
const LONG = 'a-name-without-any-space-that-is-as-long-as-names-can-be-on-a-page'

/** Returns the id of Ben's account. */
export async function furnishViews(house: House): Promise<number> {
  const ben = await addBen(house)
  for (const text of [
    `**bold** \`code\` @**all** :tada: ${'w'.repeat(300)}`,
    '| a | b |\n|---|---|\n| 1 | 2 |',
    '```js\nconst a = 1\n```\n> quoted',
    '$$\\int_0^\\infty f(x)\\,dx = \\frac{aaaaaaaaaaaaaaaaaaaa}{bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb}$$',
    '```spoiler Hidden\nnot at once\n```',
    '/poll When?\nNow\nLater',
    '/todo List\nfirst: of all',
    '/me waves',
  ])
    await house.say('drill', text, ben)
  await house.say(LONG.slice(0, 60), 'a long topic', ben)
  await house.post('/messages', { type: 'direct', to: [OWNER], content: 'Did it work?' }, ben)
  await house.post('/users/me/status', { status_text: 'at sea' }, ben)
  await house.post('/drafts', {
    drafts: [{ type: 'stream', to: [house.channelId], topic: 'drill', content: LONG, timestamp: 1_790_000_000 }],
  })
  await house.post('/user_groups/create', { name: 'crew', description: LONG, members: [] })
  await house.post('/channel_folders/create', { name: 'Sea', description: LONG })
  return ben.id
}

export const viewsOf = (house: House, benId: number): string[] => [
  ...['#inbox', '#recent', '#feed', `#narrow/channel/${house.channelId}-ops/topic/drill`],
  ...[
    `#narrow/channel/${house.channelId}-ops`,
    `#narrow/dm/${benId}-dm`,
    '#search',
    '#narrow/search/long',
    '#new-direct',
  ],
  ...['#channels', `#channels/${house.channelId}`, '#channels/new', '#people', `#user/${benId}`, '#drafts', '#about'],
  ...Object.keys(settingsSections).map((name) => `#settings/${name}`),
  ...Object.keys(organizationSections).map((name) => `#organization/${name}`),
]

export async function go(page: Page, view: string): Promise<void> {
  await page.evaluate(async (to) => {
    if (location.hash === to) return
    const changed = new Promise((resolve) => addEventListener('hashchange', resolve, { once: true }))
    location.hash = to
    await changed // the page has rendered: its listener is older
  }, view)
  await page.waitForFunction(
    () =>
      document.querySelector('main h1, h1') !== null &&
      !/Loading…|Wird geladen …/.test(document.body.textContent ?? ''),
  )
}

export const overflow = (page: Page): Promise<number> =>
  page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth)
