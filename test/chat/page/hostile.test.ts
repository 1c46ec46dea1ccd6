// @test long 90
/** 1,000 hostile messages on the page: no script, no request, nothing painted outside, and nothing of the renderer's that the page does not know. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Account, ask, OWNER, OWNER_PASSWORD } from '../support/process.ts'
import { signIn, visitPage } from './browser.ts'
import { openHouse } from './house.ts'

const MESSAGES = 1000
const AUTHORS = 7 // an account sends 200 a minute
const SEED = Number(process.env.COFFER_SEED ?? 46)

const { browser, house } = await openHouse()

const PIECES = [
  ...[
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg/onload=alert(1)>',
    '"><iframe src=//evil.example>',
  ],
  ...['[x](javascript:alert(1))', '[y](data:text/html,<script>alert(1)</script>)', '![](https://evil.example/p.png)'],
  ...['https://evil.example/pixel.png', '[https://bank.example/login](https://evil.example/)', '[z](//evil.example)'],
  ...[
    '$$\\href{javascript:alert(1)}{x}$$',
    '$$\\includegraphics{https://evil.example/x.png}$$',
    '$$\\rule{9000em}{9000em}$$',
  ],
  ...['$$\\htmlClass{overlay}{x}$$', '$$\\raise{9999em}{x}$$', '$$\\color{red;background:url(//evil.example)}{x}$$'],
  ...[
    '\n```"><img src=https://evil.example/x>\nx\n```\n',
    '\n```spoiler <b onclick=alert(1)>\n<object>\n```\n',
    '\n```math\n\\fr{\n```\n',
  ],
  ...[
    '\u202e',
    '\u0300'.repeat(20),
    'w'.repeat(800),
    '\n> ',
    '\n* ',
    '\n# ',
    '|a|\n|-|\n|<td>|',
    '`</code><svg onload=alert(1)>`',
  ],
  ...[
    '@**all**',
    '@**Nobody|7**',
    '#**ops>"><img src=x>**',
    '<time:2026-01-01T00:00:00Z>',
    ':smile:',
    ':octopus:',
    '**',
    '~~',
    '&lt;b&gt;',
  ],
  ...[' plain words ', '\n\n', '/me ', '\u{1f642}', 'http://user@127.0.0.1:1/', 'mailto:a@b.c?subject=<script>'],
]

async function authors(): Promise<Account[]> {
  const { invite_link: link } = await house.post('/invites/multiuse', { stream_ids: [house.channelId], invite_as: 400 })
  const key = /#([\w-]+)\//.exec(link)![1]
  const made: Account[] = []
  for (let number = 0; number < AUTHORS; number++) {
    const email = `author${number}@example.org`
    const form = { full_name: `Author ${number}`, email, password: `a password of author ${number}` }
    const { status, body } = await ask(house.port, 'POST', `/join/${key}`, { form })
    assert.equal(status, 200, JSON.stringify(body))
    made.push({ email, key: body.api_key })
  }
  return made
}

test('1,000 hostile messages run nothing, fetch nothing, and stay in their places', async () => {
  const text = fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 12 }).map((all) => all.join(''))
  const texts = fc.sample(text, { numRuns: MESSAGES, seed: SEED })
  const people = await authors()
  const ids: number[] = []
  for (const [at, content] of texts.entries()) {
    const { id } = await house.say('hostile', content.trim() === '' ? 'x' : content, people[at % AUTHORS])
    ids.push(id)
  }
  const here = await visitPage(browser, house.port)
  const { page, requests } = here
  await signIn(page, OWNER, OWNER_PASSWORD)
  const seen = new Set<number>()
  for (let at = 50; at < MESSAGES + 50; at += 100) {
    const near = ids[Math.min(at, MESSAGES - 1)]
    await page.evaluate((to) => {
      location.hash = to
    }, `#narrow/channel/${house.channelId}-ops/topic/hostile/near/${near}`)
    await page.locator(`.marked[data-id="${near}"]`).waitFor()
    const found = await page.evaluate(() => {
      const articles = [...document.querySelectorAll<HTMLElement>('article[data-id]')]
      return {
        ids: articles.map(({ dataset }) => Number(dataset.id)),
        active: document.querySelectorAll(
          'main :is(script, iframe, object, embed, base, link, meta, form:not(.compose))',
        ).length,
        handlers: [...document.querySelectorAll('main *')].filter((one) =>
          [...one.attributes].some(({ name, value }) => name.startsWith('on') || /^\s*(javascript|data):/i.test(value)),
        ).length,
        uncontained: articles.filter((one) => getComputedStyle(one).contain !== 'paint').length,
        unknown: articles
          .map((one) => one.querySelector('.content')?.textContent ?? '')
          .filter((content) => /^<(p|div|ul|ol|blockquote|span|table|hr)[ >]/.test(content)),
        over: document.documentElement.scrollWidth - document.documentElement.clientWidth,
      }
    })
    for (const id of found.ids) seen.add(id)
    const { ids: _, ...rest } = found
    assert.deepEqual(rest, { active: 0, handlers: 0, uncontained: 0, unknown: [], over: 0 }, `near ${near}`)
  }
  assert.ok(
    ids.every((id) => seen.has(id)),
    `${ids.filter((id) => !seen.has(id)).length} were not shown`,
  )
  const known = /^(GET \/($|page\/|manifest|user_avatars\/|api\/v1\/(events|messages))|POST \/api\/v1\/)/
  assert.deepEqual(
    requests.filter((one) => !known.test(one)),
    [],
  )
  await here.end()
})
