/** Messages that begin a poll, a list of tasks or a choice. Contract sections 3.2.1 (E10), 6.5. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()
const channelId = rig.channel('denmark', [rig.owner]).id
let bot: Client
before(async () => {
  const { user_id } = await rig.owner.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
})

const send = (client: Client, content: string, values: object = {}) =>
  client.call('POST', '/messages', { type: 'channel', to: channelId, topic: 'widgets', content, ...values })

const COMMANDS: readonly [content: string, widget: object | null][] = [
  ['/poll', { widget_type: 'poll', extra_data: { question: '', options: [] } }],
  ['/poll  Lunch? ', { widget_type: 'poll', extra_data: { question: 'Lunch?', options: [] } }],
  [
    '/poll Lunch?\n* soup\n- bread and -butter\n\n  cheese',
    { widget_type: 'poll', extra_data: { question: 'Lunch?', options: ['soup', 'bread and -butter', 'cheese'] } },
  ],
  ['/poll\nyes\nno', { widget_type: 'poll', extra_data: { question: '', options: ['yes', 'no'] } }],
  [
    '/todo Trip\n- pack: shirts: two\ntickets',
    {
      widget_type: 'todo',
      extra_data: {
        task_list_title: 'Trip',
        tasks: [
          { task: 'pack', desc: 'shirts: two' },
          { task: 'tickets', desc: '' },
        ],
      },
    },
  ],
  ['/polls Lunch?', null],
  [' /poll Lunch?', null],
  ['see /poll', null],
]

for (const [content, widget] of COMMANDS)
  test(`${JSON.stringify(content)} ${widget === null ? 'is text' : 'begins a widget'}`, async () => {
    const queue = await rig.owner.register({ event_types: ['message'] })
    const { body } = await send(rig.owner, content)
    const [{ message }] = await queue.events()
    const { message: fetched } = await rig.owner.get(`/messages/${body.id}`)
    for (const { submessages } of [message, fetched]) {
      assert.deepEqual(
        submessages.map(({ id: _, ...rest }: { id: number }) => rest),
        widget === null
          ? []
          : [
              {
                message_id: body.id,
                sender_id: rig.owner.user.id,
                msg_type: 'widget',
                content: JSON.stringify(widget),
              },
            ],
      )
    }
    assert.match(fetched.content, /^<p>/, 'for those that know no widgets it is a text')
    const { status } = await rig.owner.call('PATCH', `/messages/${body.id}`, { content: 'other' })
    assert.equal(status, widget === null ? 200 : 400)
  })

const CHOICES = {
  widget_type: 'zform',
  extra_data: {
    type: 'choices',
    heading: 'Which?',
    choices: [{ type: 'multiple_choice', reply: 'answer A', long_name: 'the first', short_name: 'A' }],
  },
}

test('a bot offers choices, and nobody else', async () => {
  const { body } = await send(bot, 'Which? A: the first', { widget_content: CHOICES })
  const { message } = await rig.owner.get(`/messages/${body.id}`)
  assert.equal(message.submessages[0].sender_id, bot.user.id)
  assert.deepEqual(JSON.parse(message.submessages[0].content), CHOICES)
  const refused = await send(rig.owner, 'Which?', { widget_content: CHOICES })
  assert.equal(refused.body.code, 'BAD_REQUEST')
  for (const wrong of [
    { ...CHOICES, widget_type: 'poll' },
    { widget_type: 'zform' },
    [],
    { ...CHOICES, extra_data: {} },
  ]) {
    const { body } = await send(bot, 'Which?', { widget_content: wrong })
    assert.equal(body.code, 'REQUEST_VARIABLE_INVALID')
    assert.equal(body.var_name, 'widget_content')
  }
})
