/** Texts of strangers, rendered: they notify nobody, and stay in their place. Contract section 3.5.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isName } from '../../../firmware/chat/base/characters.ts'
import { bold, code, contentOf, link, literal, quote, silenced, topicOf } from '../../../firmware/chat/external/text.ts'
import { widgetOf } from '../../../firmware/chat/realm/messages/widgets.ts'
import { rendered } from '../render/support.ts'
import { DEFAULTS, integrationOf, RECORDED } from './payloads.ts'

const github = integrationOf('github')

function shown(name: string, changes: (payload: Payload) => void): { text: string; topic: string; html: string } {
  const recorded = RECORDED.find((one) => one.integration === github && one.name === name)!
  const payload = structuredClone(recorded.payload) as Payload
  changes(payload)
  const [message] = github.read({ payload, event: recorded.event, options: DEFAULTS }).messages
  const text = silenced(contentOf(message!.text))
  return { text, topic: topicOf(message!.topic ?? ''), html: expectQuiet(text) }
}

// biome-ignore lint/suspicious/noExplicitAny: tests change members of any payload
type Payload = any

function expectQuiet(text: string): string {
  const result = rendered(text, { linkifiers: [] })
  assert.equal(result.users.size + result.groups.size, 0, text)
  assert.ok(!result.channelWildcard && !result.topicWildcard, text)
  assert.equal(widgetOf(text), undefined, text)
  assert.ok(!text.startsWith('/me '), text)
  return result.html
}

test('an issue titled with mentions notifies nobody', () => {
  const { html } = shown('issues.opened', ({ issue }) => {
    issue.title = '@**all** @**King Hamlet|31** @*support*'
    issue.body = '@**all** (@**topic**) "@*support*" @**King Hamlet**'
  })
  assert.ok(html.includes('user-mention channel-wildcard-mention silent'))
  assert.ok(!/class="[^"]*mention(?:(?!silent)[^"])*"/.test(html), html)
})

test('a branch named ``` opens no block of code', () => {
  const { html, text } = shown('push', (payload) => {
    payload.ref = 'refs/heads/```'
  })
  assert.ok(text.includes('```` ``` ````'))
  assert.ok(html.includes('<code> ``` </code>') || html.includes('<code>```</code>'), html)
  assert.ok(!html.includes('codehilite'))
  assert.equal(html.match(/<li>/g)!.length, 2)
})

test('a title of 10,000 characters and a body of 200,000 are cut, and so is the topic', () => {
  const { text, topic } = shown('issues.opened', ({ issue }) => {
    issue.title = '𝕏'.repeat(10_000)
    issue.body = `${'y'.repeat(100_000)}\n`.repeat(2)
  })
  assert.equal([...topic].length, 60)
  assert.ok([...text].length < 3000)
  assert.ok(text.isWellFormed() && topic.isWellFormed())
})

test('a commit message with a poll makes none, nor do the commands at the start of a text', () => {
  const { html } = shown('push', ({ commits }) => {
    commits[0].message = '/poll Who?\nA\nB'
  })
  assert.ok(html.includes('/poll Who?'))
  for (const command of ['/poll Who?\nA', '/todo Things\nA: B', '/me waves'])
    assert.equal(contentOf(command), ` ${command}`)
  assert.equal(contentOf('/pollen'), '/pollen')
})

test('fences, quotes and links in a body stay in its quotation', () => {
  const { html } = shown('issues.opened', ({ issue }) => {
    issue.body = '```\ncode\n~~~ quote\n> > x\n\n# Heading\n``` spoiler x\n| a | b |\n|---|---|\nend'
  })
  assert.match(html, /^<p>[\s\S]*<\/p>\n<blockquote>[\s\S]*end[\s\S]*<\/blockquote>$/)
})

test('a title that is a link, a picture or a formula is shown as it is', () => {
  for (const title of [
    '[free](https://evil.example)',
    '![x](https://evil.example/a.png)',
    '$$x$$',
    'https://evil.example/a.png',
    '<time:2026-01-01T00:00:00Z>',
    '**b** ~~s~~',
    '#**ch**',
    'a ]( b',
    'evil.example',
    '\\',
    '`',
    '` x `` y ```',
  ]) {
    const { html } = shown('issues.opened', ({ issue }) => {
      issue.title = title
      issue.body = ''
    })
    const escaped = title.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    assert.ok(
      html.includes(`<code>${escaped}</code>`) || html.includes(`<code> ${escaped} </code>`),
      `${title}: ${html}`,
    )
    assert.equal(html.match(/<a /g)!.length, 1, html)
  }
})

test('an address of the payload that is none of the web, or would end the link, is no link or is escaped', () => {
  assert.equal(link('x', 'javascript:alert(1)'), 'x')
  assert.equal(link('x', ''), 'x')
  assert.equal(link('x', `https://a.example/${'y'.repeat(600)}`), 'x')
  assert.equal(link('x', 'https://a.example/a)b@**all**'), '[x](https://a.example/a%29b%40%2A%2Aall%2A%2A)')
})

test('whatever strangers write, in every place: nobody is notified, one paragraph and one quotation', () => {
  const piece = fc.constantFrom(
    '@**all**',
    '@**King Hamlet|31**',
    '@*support*',
    '`',
    '```',
    '~~~',
    '\n',
    '> ',
    '* ',
    '[x](',
    ')',
    '](https://e.example)',
    '\\',
    '_',
    '**',
    '$$',
    '#**ch**',
    '|',
    '---',
    '/poll ',
    '/me ',
    ' ',
    'word',
    '\u0000',
    '\u2028',
    '\u0002',
    '\ufdd0',
    '\ud800',
    ':smile:',
    '<time:1>',
    'https://e.example/a.png',
  )
  const stranger = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(stranger, stranger, stranger, stranger, (title, body, login, branch) => {
      const opened = shown('issues.opened', (payload) => {
        Object.assign(payload.issue, { title, body })
        payload.sender.login = `x${login}`
      })
      assert.ok(isName(opened.topic))
      assert.equal(opened.html.match(/<a href="https:\/\/github\.example\/quayside\/harbor\/issues\/7">/g)!.length, 1)
      assert.match(opened.html, /^<p>(?:(?!<\/p>)[\s\S])*<\/p>(?:\n<blockquote>[\s\S]*<\/blockquote>)?$/)
      const pushed = shown('push', (payload) => {
        payload.ref = `refs/heads/${branch}`
        Object.assign(payload.commits[0], { message: title })
        Object.assign(payload.commits[1].author, { username: `y${login}` })
      })
      assert.equal(pushed.html.match(/<li>/g)!.length, 2, pushed.html)
      assert.equal(pushed.html.match(/<a /g)!.length, 3, pushed.html)
    }),
    { numRuns: 300 },
  )
})

test('a text is cut at the end of a line where there is one', () => {
  const cut = contentOf(`${`${'x'.repeat(99)}\n`.repeat(200)}`)
  assert.ok([...cut].length <= 10_000)
  assert.match(cut, /x{99}\n\[message truncated\]$/)
  assert.equal([...contentOf('🙂'.repeat(20_000))].length, 10_000)
})

test('names and quotations', () => {
  assert.equal(bold('mira'), '**mira**')
  assert.equal(bold('**mira**'), '`**mira**`')
  assert.equal(literal('Fix the list (again): it works'), 'Fix the list (again): it works')
  assert.equal(code('a ` b'), '``a ` b``')
  assert.equal(quote('\r\n'), '')
  assert.equal(quote(Array.from({ length: 30 }, (_, index) => index).join('\n')).split('\n').length, 2 + 20 + 1)
})
