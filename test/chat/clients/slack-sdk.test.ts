// @test long 10
/** Slack's own package slack_sdk, unmodified, sends by `slack_incoming`: text, blocks, attachments, as Slack shows them. */

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { buildForTests } from '../../support/build.ts'
import { fileNeeds, needsPython, PYTHON } from '../../support/tools.ts'
import { ask } from '../support/process.ts'
import { furnished } from './furnished.ts'
import { ENVIRONMENT, TIME_MS_MAX } from './python.ts'

await fileNeeds('openssl')

const { skip } = needsPython()
let program: string
before(async () => {
  if (skip === false) program = await buildForTests()
})

const SCRIPT = `
import json, ssl, sys
from slack_sdk.models.attachments import Attachment, AttachmentField
from slack_sdk.models.blocks import ContextBlock, DividerBlock, HeaderBlock, MarkdownTextObject, SectionBlock
from slack_sdk.webhook import WebhookClient
address, authority = sys.stdin.read().split()
context = ssl.create_default_context(cafile=authority)
def send(address=address, **message):
    answer = WebhookClient(address, ssl=context).send(**message)
    print(json.dumps([answer.status_code, json.loads(answer.body)]))
send(text='*Deployed* _harbor_ ~1.3~ to <https://shop.example/|the shop> &lt;now&gt;')
send(text='as a notification', blocks=[
    HeaderBlock(text='Backup'),
    SectionBlock(text=MarkdownTextObject(text='*3* of 3'), fields=[MarkdownTextObject(text='_Size_'), '12 GB']),
    DividerBlock(),
    ContextBlock(elements=[MarkdownTextObject(text='by <https://shop.example/cron|cron>')]),
])
send(text='Disk', attachments=[Attachment(
    text='95 %', title='db-1', title_link='https://shop.example/db-1', fields=[AttachmentField(title='Load', value='4')])])
send(text='')
send(address=address.replace('api_key=', 'api_key=x'), text='Hello')
`

test('text, blocks and attachments arrive as in Slack, and errors are in its form', { skip }, async (t) => {
  const { port, owner, directory } = await furnished(t, program)
  const form = { full_name: 'Slack', short_name: 'slack', bot_type: '2' }
  const { body: bot } = await ask(port, 'POST', '/bots', { as: owner, form })
  const subscriptions = { subscriptions: '[{"name": "deploys"}]' }
  assert.equal((await ask(port, 'POST', '/users/me/subscriptions', { as: owner, form: subscriptions })).status, 200)

  const address = `https://127.0.0.1:${port}/api/v1/external/slack_incoming?api_key=${bot.api_key}&stream=deploys&topic=t`
  const { stdout, stderr, status } = spawnSync(PYTHON, ['-c', SCRIPT], {
    input: `${address}\n${join(directory, 'ca.pem')}\n`,
    env: ENVIRONMENT,
    encoding: 'utf8',
    timeout: TIME_MS_MAX,
  })
  assert.equal(status, 0, stderr)
  const ok = [200, { result: 'success', msg: '', ok: true }]
  const refused = (status: number, code: string, error: string, more = {}) => [
    status,
    { result: 'error', msg: error, code, ...more, ok: false, error },
  ]
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [
      ok,
      ok,
      ok,
      refused(400, 'ANOMALOUS_WEBHOOK_PAYLOAD', 'The payload is not one that Slack sends', { webhook_name: 'Slack' }),
      refused(401, 'INVALID_API_KEY', 'Invalid API key'),
    ],
  )

  const narrow = '[{"operator": "topic", "operand": "t"}]'
  const query = { anchor: 'newest', num_before: '10', num_after: '0', apply_markdown: 'false', narrow }
  const { body } = await ask(port, 'GET', '/messages', { as: owner, form: query })
  assert.deepEqual(
    body.messages.map(({ content }: { content: string }) => content),
    [
      '**Deployed** *harbor* ~~1.3~~ to [the shop](https://shop.example/) <now>',
      '**Backup**\n\n**3** of 3\n*Size*\n12 GB\n\n---\n\nby [cron](https://shop.example/cron)',
      'Disk\n\n**[db-1](https://shop.example/db-1)**\n95 %\n**Load**: 4',
    ],
  )
})
