import assert from 'node:assert/strict'
import { test } from 'node:test'
import { html, rendered } from './support.ts'

const CASES: [string, string][] = [
  ['@**Zoe**', '<span class="user-mention" data-user-id="7">@Zoe</span>'],
  ['@**zoe**', '<span class="user-mention" data-user-id="7">@Zoe</span>'],
  ['@**King Hamlet|31**', '<span class="user-mention" data-user-id="31">@King Hamlet</span>'],
  ['@**|31**', '<span class="user-mention" data-user-id="31">@King Hamlet</span>'],
  ['@_**King Hamlet**', '<span class="user-mention silent" data-user-id="31">King Hamlet</span>'],
  ['@**Gone**', '<span class="user-mention silent" data-user-id="32">Gone</span>'],
  ['@**Zoe|31**', '@<strong>Zoe|31</strong>'],
  ['@**Nobody**', '@<strong>Nobody</strong>'],
  ['a@**Zoe**', 'a@<strong>Zoe</strong>'],
  ['@**all**', '<span class="user-mention channel-wildcard-mention" data-user-id="*">@all</span>'],
  ['@_**channel**', '<span class="user-mention channel-wildcard-mention silent" data-user-id="*">channel</span>'],
  ['@**topic**', '<span class="topic-mention">@topic</span>'],
  ['@*support*', '<span class="user-group-mention" data-user-group-id="17">@support</span>'],
  ['@_*support*', '<span class="user-group-mention silent" data-user-group-id="17">support</span>'],
  ['@*former*', '<span class="user-group-mention silent" data-user-group-id="18">former</span>'],
  ['@*others*', '@<em>others</em>'],
  ['#**ch**', '<a class="stream" data-stream-id="9" href="/#narrow/channel/9-ch">#ch</a>'],
  [
    '#**Zulip updates**',
    '<a class="stream" data-stream-id="14" href="/#narrow/channel/14-Zulip-updates">#Zulip updates</a>',
  ],
  ['#**secret**', '#<strong>secret</strong>'],
  [
    '#**ch>topic**',
    '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-ch/topic/topic/with/214">#ch &gt; topic</a>',
  ],
  [
    '#**ch>a.b c%(d)**',
    '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-ch/topic/a.2Eb.20c.25.28d.29">#ch &gt; a.b c%(d)</a>',
  ],
  [
    '#**ch>**',
    '<a class="stream-topic" data-stream-id="9" href="/#narrow/channel/9-ch/topic/">#ch &gt; <em>general chat</em></a>',
  ],
  [
    '#**ch>topic@123**',
    '<a class="message-link" href="/#narrow/channel/9-ch/topic/topic/near/123">#ch &gt; topic @ 💬</a>',
  ],
]

for (const [text, wanted] of CASES)
  test(`renders ${text}`, () => {
    assert.equal(html(text), `<p>${wanted}</p>`)
  })

test('says who is notified, and silent mentions, quotes and code notify nobody', () => {
  const { users, groups, channelWildcard, topicWildcard } = rendered(
    '@**Zoe** @_**King Hamlet** @*support* @**topic** `@**all**`\n\n> @**King Hamlet** @**all**',
  )
  assert.deepEqual([...users], [7])
  assert.deepEqual([...groups], [17])
  assert.equal(channelWildcard, false)
  assert.equal(topicWildcard, true)
})

test('silences mentions in fenced quotes of any depth and in spoilers within them', () => {
  const text = '````quote\n@**Zoe**\n```quote\n@*support*\n~~~spoiler @**all**\n@**King Hamlet**\n~~~\n```\n````'
  const { html, users, groups, channelWildcard } = rendered(text)
  assert.deepEqual([users.size, groups.size, channelWildcard], [0, 0, false])
  assert.equal(html.match(/ silent"/g)?.length, 4)
})

test('a wildcard counts once it is not silent', () => {
  assert.equal(rendered('@_**all**').channelWildcard, false)
  assert.equal(rendered('@_**all** and @**everyone**').channelWildcard, true)
})
