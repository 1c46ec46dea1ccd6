/** Actions on a message, shown beside the one that is pointed at or focused. */

import { Action, Dialog } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { boxWanted } from '../box-wanted.ts'
import type { RealmView } from '../model/realm.ts'
import { mayDelete, mayEdit } from '../model/rights.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { attempt } from '../problems.ts'
import { linkToMessage, quote } from '../quote.ts'
import * as words from '../words/en.ts'
import { EmojiPicker } from './emoji-picker.tsx'
import { Icon } from './icons.tsx'
import { Popover } from './popover.tsx'
import { Problem } from './problem.tsx'
import { react } from './reactions.tsx'
import { WhenDialog } from './when.tsx'

/** Dialog that an act opens first. */
export type MessageQuestion = 'delete' | 'remind'

interface ActionsProps {
  realm: RealmView
  message: ReceivedMessage
  edit: () => void
  ask: (question: MessageQuestion) => void
}

export function MessageActions({ realm, message, edit, ask }: ActionsProps) {
  const nowS = Date.now() / 1000
  const isStarred = message.flags.includes('starred')
  const star = () =>
    attempt(
      call('POST', '/messages/flags', { messages: [message.id], op: isStarred ? 'remove' : 'add', flag: 'starred' }),
    )
  const copyLink = () => navigator.clipboard.writeText(`${location.origin}/${linkToMessage(realm, message)}`)
  const quoteIt = async () => {
    if (await attempt(quote(realm, message))) boxWanted.value++
  }
  return (
    <div class="actions" role="toolbar" aria-label={words.actions}>
      <Popover label={words.addReaction} text={<Icon name="smile" />}>
        {(closePicker) => (
          <EmojiPicker
            realm={realm}
            choose={({ name, code, type }) => {
              closePicker()
              void react(message.id, true, { emoji_name: name, emoji_code: code, reaction_type: type })
            }}
          />
        )}
      </Popover>
      <button type="button" class="icon" aria-label={words.quote} title={words.quote} onClick={() => void quoteIt()}>
        <Icon name="quote" />
      </button>
      {mayEdit(realm, message, nowS) && (
        <button type="button" class="icon" aria-label={words.edit} title={words.edit} onClick={edit}>
          <Icon name="pencil" />
        </button>
      )}
      <Popover label={words.more} text={<Icon name="more" />}>
        {(closeMenu) => (
          <div class="menu-list">
            <MenuItem label={isStarred ? words.unstar : words.star} close={closeMenu} act={() => void star()} />
            <MenuItem label={words.copyLink} close={closeMenu} act={() => void attempt(copyLink())} />
            <MenuItem label={words.remind} close={closeMenu} act={() => ask('remind')} />
            {mayDelete(realm, message, nowS) && (
              <MenuItem label={words.remove} close={closeMenu} act={() => ask('delete')} />
            )}
          </div>
        )}
      </Popover>
    </div>
  )
}

/** Rendered outside the list, since the pointed-at message changes while the dialog is open. */
export function MessageDialog(props: { question: MessageQuestion; messageId: number; close: () => void }) {
  const { question, messageId, close } = props
  if (question === 'delete') return <DeleteDialog messageId={messageId} close={close} />
  return (
    <WhenDialog
      title={words.remind}
      action={words.remindAction}
      close={close}
      choose={(timeS) => call('POST', '/reminders', { message_id: messageId, scheduled_delivery_timestamp: timeS })}
    />
  )
}

function MenuItem({ label, close, act }: { label: string; close: () => void; act: () => void }) {
  return (
    <button
      type="button"
      onClick={() => {
        close()
        act()
      }}
    >
      {label}
    </button>
  )
}

function DeleteDialog({ messageId, close }: { messageId: number; close: () => void }) {
  const run = useRun()
  const act = async () => {
    if (await run.start(words.deleting, () => call('DELETE', `/messages/${messageId}`))) close()
  }
  return (
    <Dialog title={words.deleteTitle} close={close}>
      <p>{words.deleteText}</p>
      <Problem error={run.error.value} />
      <div class="row">
        <Action kind="danger" busy={run.busy.value} onClick={() => void act()}>
          {words.remove}
        </Action>
        <Action onClick={close}>{words.cancel}</Action>
      </div>
    </Dialog>
  )
}
