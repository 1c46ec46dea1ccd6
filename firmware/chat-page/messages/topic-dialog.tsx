/** Asks for a topic's new name, or whether to delete the topic. */

import { useSignal } from '@preact/signals'
import { Field } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { type ConversationRef, INBOX, TOPIC_MAX } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { topicName } from '../names.ts'
import { go } from '../place.ts'
import { ConfirmDialog, FormDialog } from '../views/form-dialog.tsx'
import { words } from '../words/words.ts'

type Topic = Extract<ConversationRef, { kind: 'topic' }>

export interface TopicDialogProps {
  realm: RealmView
  topic: Topic
  question: 'rename' | 'delete'
  rename: (to: string) => Promise<void>
  close: () => void
}

export function TopicDialog({ realm, topic, question, rename, close }: TopicDialogProps) {
  const name = useSignal(topic.topic)
  return question === 'rename' ? (
    <FormDialog
      title={words.rename}
      action={words.save}
      act={() => name.value.trim() !== '' && rename(name.value.trim())}
      close={close}
    >
      <Field label={words.topic} bind={name} maxLength={TOPIC_MAX} required />
    </FormDialog>
  ) : (
    <ConfirmDialog
      title={words.deleteTopic(topicName(realm, topic.topic))}
      action={words.remove}
      busy={words.deleting}
      act={() => removeAll(topic)}
      close={close}
    >
      <p>{words.deleteText}</p>
    </ConfirmDialog>
  )
}

/** The server deletes for some seconds, and says whether messages remain. */
async function removeAll({ channelId, topic }: Topic): Promise<void> {
  let isComplete = false
  while (!isComplete) {
    const answer = await call<{ complete: boolean }>('POST', `/streams/${channelId}/delete_topic`, {
      topic_name: topic,
    })
    isComplete = answer.complete
  }
  go(INBOX)
}
