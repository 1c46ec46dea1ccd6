/** Moves a message, alone or with others of its topic, to another topic or channel. */

import { useSignal } from '@preact/signals'
import { Field, Select } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { type ConversationRef, conversationOf, TOPIC_MAX } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { mayInRealm } from '../model/rights.ts'
import { linkTo } from '../names.ts'
import { go } from '../place.ts'
import { FormDialog } from '../views/form-dialog.tsx'
import { words } from '../words/words.ts'

interface MoveProps {
  realm: RealmView
  messageId: number
  close: () => void
}

export function MoveDialog({ realm, messageId, close }: MoveProps) {
  const shown = [...realm.lists].flatMap(({ messages }) => messages).find(({ id }) => id === messageId)
  const from = shown && conversationOf(shown, realm.ownId)
  return from?.kind === 'topic' ? <Form {...{ realm, messageId, close, from }} /> : null
}

function Form({ realm, messageId, close, from }: MoveProps & { from: Extract<ConversationRef, { kind: 'topic' }> }) {
  const topic = useSignal(from.topic)
  const channel = useSignal(String(from.channelId))
  const mode = useSignal('change_one')
  const channels = [...realm.channels.values()].sort((a, b) => a.name.localeCompare(b.name))
  const move = () => {
    const to = { kind: 'topic', channelId: Number(channel.value), topic: topic.value.trim() } as const
    const changes = {
      ...(to.topic !== from.topic && { topic: to.topic }),
      ...(to.channelId !== from.channelId && { stream_id: to.channelId }),
    }
    if (Object.keys(changes).length === 0) return false
    return call('PATCH', `/messages/${messageId}`, { ...changes, propagate_mode: mode.value }).then(() =>
      go(`${linkTo(realm, to)}/near/${messageId}`),
    )
  }
  return (
    <FormDialog title={words.move} action={words.move} act={move} close={close}>
      {mayInRealm(realm, 'can_move_messages_between_channels_group') && (
        <Select
          label={words.channel}
          bind={channel}
          options={channels.map(({ stream_id: id, name }) => [String(id), `#${name}`])}
        />
      )}
      <Field label={words.topic} bind={topic} maxLength={TOPIC_MAX} />
      <Select label={words.messages} bind={mode} options={Object.entries(words.moveModes)} />
    </FormDialog>
  )
}
