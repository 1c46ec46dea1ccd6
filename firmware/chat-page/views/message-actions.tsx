/** Actions on a message, shown beside the one that is pointed at or focused. */

import { call } from '../api.ts'
import { revision } from '../connection.ts'
import { collapse, markUnreadFrom, quoteIntoBox, react, star } from '../message-acts.ts'
import type { RealmView } from '../model/realm.ts'
import { hasHistory, hasReceipts, mayDelete, mayEdit, mayMove } from '../model/rights.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { attempt } from '../problems.ts'
import { linkToMessage } from '../quote.ts'
import { words } from '../words/words.ts'
import { loadMore } from './area.tsx'
import { EmojiPicker } from './emoji-picker.tsx'
import { ConfirmDialog } from './form-dialog.tsx'
import { Icon } from './icons.tsx'
import { useLoaded } from './loaded.ts'
import { MenuItem } from './menu-item.tsx'
import { Popover } from './popover.tsx'
import { Problem } from './problem.tsx'
import { WhenDialog } from './when.tsx'

/** Dialogs in a script of their own. */
type Detail = 'history' | 'readers' | 'report' | 'move'

/** Dialog that an act opens first. */
export type MessageQuestion = 'delete' | 'remind' | Detail

interface ActionsProps {
  realm: RealmView
  message: ReceivedMessage
  edit: () => void
  ask: (question: MessageQuestion) => void
}

export function MessageActions({ realm, message, edit, ask }: ActionsProps) {
  void revision.value // renders again after each event: the time to edit or to delete may be over
  const nowS = Date.now() / 1000
  const isStarred = message.flags.includes('starred')
  const copyLink = () => navigator.clipboard.writeText(`${location.origin}/${linkToMessage(realm, message)}`)
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
      <button
        type="button"
        class="icon"
        aria-label={words.quote}
        title={words.quote}
        onClick={() => void quoteIntoBox(realm, message)}
      >
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
            <MenuItem label={isStarred ? words.unstar : words.star} close={closeMenu} act={() => void star(message)} />
            <MenuItem label={words.copyLink} close={closeMenu} act={() => void attempt(copyLink())} />
            <MenuItem label={words.remind} close={closeMenu} act={() => ask('remind')} />
            <MenuItem label={words.markUnread} close={closeMenu} act={() => void markUnreadFrom(realm, message)} />
            <MenuItem
              label={message.flags.includes('collapsed') ? words.expand : words.collapse}
              close={closeMenu}
              act={() => void collapse(message)}
            />
            {mayMove(realm, message) && <MenuItem label={words.move} close={closeMenu} act={() => ask('move')} />}
            {hasHistory(realm, message) && (
              <MenuItem label={words.history} close={closeMenu} act={() => ask('history')} />
            )}
            {hasReceipts(realm) && <MenuItem label={words.readBy} close={closeMenu} act={() => ask('readers')} />}
            {realm.organization.moderation_request_channel_id !== NO_CHANNEL && message.sender_id !== realm.ownId && (
              <MenuItem label={words.report} close={closeMenu} act={() => ask('report')} />
            )}
            {mayDelete(realm, message, nowS) && (
              <MenuItem label={words.remove} close={closeMenu} act={() => ask('delete')} />
            )}
          </div>
        )}
      </Popover>
    </div>
  )
}

const NO_CHANNEL = -1
function DetailDialog(props: { realm: RealmView; detail: Detail; messageId: number; close: () => void }) {
  const { detail, ...shared } = props
  const { value, failure } = useLoaded(loadMore)
  if (value.value === null) return <Problem error={failure.value} />
  const { HistoryDialog, ReadersDialog, ReportDialog, MoveDialog } = value.value
  const Shown = { history: HistoryDialog, readers: ReadersDialog, report: ReportDialog, move: MoveDialog }[detail]
  return <Shown {...shared} />
}

/** Rendered outside the list, since the pointed-at message changes while the dialog is open. */
export function MessageDialog(props: {
  realm: RealmView
  question: MessageQuestion
  messageId: number
  close: () => void
}) {
  const { realm, question, messageId, close } = props
  if (question === 'delete')
    return (
      <ConfirmDialog
        title={words.deleteTitle}
        action={words.remove}
        busy={words.deleting}
        act={() => call('DELETE', `/messages/${messageId}`)}
        close={close}
      >
        <p>{words.deleteText}</p>
      </ConfirmDialog>
    )
  if (question !== 'remind') return <DetailDialog realm={realm} detail={question} messageId={messageId} close={close} />
  return (
    <WhenDialog
      title={words.remind}
      action={words.remindAction}
      close={close}
      choose={(timeS) => call('POST', '/reminders', { message_id: messageId, scheduled_delivery_timestamp: timeS })}
    />
  )
}
