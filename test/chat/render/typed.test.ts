/** Typed text that a name or an address surrounds. Contract section 6.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { CompiledLinkifier } from '../../../firmware/chat/render/linkifiers.ts'
import type { Names } from '../../../firmware/chat/render/names.ts'
import { render } from '../../../firmware/chat/render/render.ts'
import { html, names, settings } from './support.ts'

const MARKERS = /[\uFDD0-\uFDD2]|%EF%B7%9[0-2]|\.EF\.B7\.9[0-2]/i

describe('Marks of Markdown in names', () => {
  const CASES: readonly [text: string, expected: string][] = [
    [
      '#**ch>a `b` c**',
      '<p><a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-ch/topic/a.20.60b.60.20c">#ch &gt; a `b` c</a></p>',
    ],
    [
      '#**ch>``x`` & `y`@7**',
      '<p><a class="message-link" href="/#narrow/channel/9-ch/topic/.60.60x.60.60.20.26.20.60y.60/near/7">#ch &gt; ``x`` &amp; `y` @ 💬</a></p>',
    ],
    [
      '#**ch>cost $$5$$ more**',
      '<p><a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-ch/topic/cost.20.24.245.24.24.20more">#ch &gt; cost $$5$$ more</a></p>',
    ],
    [
      '#**Zulip updates** `code`',
      '<p><a class="stream" data-stream-id="14" href="/#narrow/channel/14-Zulip-updates">#Zulip updates</a> <code>code</code></p>',
    ],
  ]
  for (const [text, expected] of CASES)
    it(text, () => {
      assert.equal(html(text), expected)
    })

  it('are looked up as they were typed', () => {
    const asked: string[] = []
    const told: Names = {
      ...names,
      channel: (name) => void asked.push(`channel ${name}`),
      group: (name) => void asked.push(`group ${name}`),
      newestMessage: (_, topic) => void asked.push(`topic ${topic}`),
    }
    render('#**a `b`** @*c `d`* #**e $$f$$>g**', told, settings)
    assert.deepEqual(asked, ['channel e $$f$$', 'channel a `b`', 'channel e $$f$$>g', 'group c `d`'])
  })

  it('never leave a marker of the renderer in an answer', () => {
    const linkifiers = [
      new CompiledLinkifier({ pattern: 'bug:(?P<what>.+)', urlTemplate: 'https://trac.example.com/{what}' }),
    ]
    assert.ok(!MARKERS.test(html('bug:`a`', { linkifiers })), html('bug:`a`', { linkifiers }))
    const pieces = [
      '`',
      '``',
      '$$',
      '#**ch',
      '>',
      '@7',
      '**',
      '@*',
      '*',
      ' ',
      'x',
      '\\',
      '[',
      '](',
      ')',
      'http://a.b/',
      ':',
      'bug:',
      '~~',
      '<time:',
      '!',
    ]
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 24 }), (parts) => {
        const result = html(parts.join(''), { linkifiers })
        assert.ok(!MARKERS.test(result), `${JSON.stringify(parts.join(''))}: ${result}`)
      }),
      { numRuns: 2000 },
    )
  })
})

describe('Tab stops', () => {
  it('are counted in characters, not in halves of them', () => {
    assert.equal(
      html('```\n😀\tx\n😀😀😀\ty\n```'),
      html('```\na   x\naaa y\n```').replace('a   x', '😀   x').replace('aaa y', '😀😀😀 y'),
    )
  })
})

describe('Times before the year 1 in UTC', () => {
  it('are shown as they were typed, as all that is no time', () => {
    assert.equal(html('<time:0001-01-01T01:00:00+02:00>'), '<p>&lt;time:0001-01-01T01:00:00+02:00&gt;</p>')
    assert.equal(
      html('<time:0001-01-01T02:00:00+02:00>'),
      '<p><time datetime="0001-01-01T00:00:00Z">0001-01-01T02:00:00+02:00</time></p>',
    )
    assert.equal(html('<time:9999-12-31T23:00:00-02:00>'), '<p>&lt;time:9999-12-31T23:00:00-02:00&gt;</p>')
  })
})
