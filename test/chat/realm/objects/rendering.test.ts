import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { renderText } from '../../../../firmware/chat/realm/objects/rendering.ts'
import type { Client } from '../../support/chat.ts'
import { chatSuite } from '../../support/suite.ts'

const { rig, hamlet, polonius: guest } = await chatSuite({ hamlet: 'member', polonius: 'guest' })
before(async () => {
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'public' }] })
  await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'secret' }], invite_only: true })
})

const html = (author: Client, text: string) => renderText(rig.chat.realm!, author.user, text).html

test('names of users are found in any case, and with their ids', () => {
  const { id, fullName } = hamlet.user
  const mention = `<p><span class="user-mention" data-user-id="${id}">@${fullName}</span></p>`
  assert.equal(html(rig.owner, `@**${fullName.toUpperCase()}**`), mention)
  assert.equal(html(rig.owner, `@**${fullName}|${id}**`), mention)
})

test('groups of the system can be mentioned, others that are not there cannot', () => {
  assert.match(html(rig.owner, '@*role:members*'), /class="user-group-mention"/)
  assert.match(html(rig.owner, '@*nobody has this*'), /<em>/)
})

test('a channel that its author may not see is no link', () => {
  assert.match(html(hamlet, '#**public**'), /class="stream"/)
  assert.match(html(rig.owner, '#**secret**'), /class="stream"/)
  assert.equal(html(hamlet, '#**secret**'), '<p>#<strong>secret</strong></p>')
  assert.equal(html(guest, '#**public**'), '<p>#<strong>public</strong></p>')
})

test('a text whose HTML would be too long is refused', () => {
  assert.throws(() => html(hamlet, `${'|'.repeat(1500)}\n${'|-'.repeat(1499)}|\n${'x\n'.repeat(2000)}`), /too long/)
})
