import { useSignal } from '@preact/signals'
import { Action, Field } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { conversationOf, keyOf } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { type ChoiceButtons, nextIndex, type Poll, readWidget, type TaskList } from '../model/widgets.ts'
import { personName } from '../names.ts'
import { outbox, send } from '../outbox.ts'
import { attempt } from '../problems.ts'
import { listOf } from '../words/format.ts'
import { words } from '../words/words.ts'
import { ignoreHeldEnter } from './modifiers.ts'

const OPTION_MAX = 1000 // characters; the server also limits all submessages of a message together

interface WidgetProps<W> {
  realm: RealmView
  message: ReceivedMessage
  widget: W
}

export function widgetOf(realm: RealmView, message: ReceivedMessage) {
  const widget = readWidget(message.submessages, message.sender_id)
  if (widget === null) return null
  const shared = { realm, message }
  if (widget.kind === 'poll') return <PollWidget {...shared} widget={widget} />
  if (widget.kind === 'todo') return <TasksWidget {...shared} widget={widget} />
  return <ChoicesWidget {...shared} widget={widget} />
}

const submit = ({ id }: ReceivedMessage, content: Record<string, unknown>): Promise<boolean> =>
  attempt(call('POST', '/submessage', { message_id: id, msg_type: 'widget', content: JSON.stringify(content) }))

function PollWidget({ realm, message, widget: { question, options } }: WidgetProps<Poll>) {
  const keys = options.map(({ key }) => key)
  return (
    <fieldset class="widget">
      <legend>{question || words.poll}</legend>
      {options.map(({ key, text, voters }) => {
        const isOwn = voters.includes(realm.ownId)
        const who = listOf(voters.map((id) => personName(realm, id)))
        return (
          <div class="option" key={key}>
            <button
              type="button"
              class="vote"
              aria-pressed={isOwn}
              aria-label={words.vote(text, voters.length)}
              onClick={() => void submit(message, { type: 'vote', key, vote: isOwn ? -1 : 1 })}
            >
              {voters.length}
            </button>
            <span>{text}</span>
            {voters.length > 0 && <span class="soft">{who}</span>}
          </div>
        )
      })}
      <AddRow
        label={words.newOption}
        add={(option) => submit(message, { type: 'new_option', option, idx: nextIndex(keys, realm.ownId) })}
      />
    </fieldset>
  )
}

function TasksWidget({ realm, message, widget: { title, tasks } }: WidgetProps<TaskList>) {
  const keys = tasks.map(({ key }) => key)
  const add = (task: string) => {
    const key = nextIndex(keys, realm.ownId)
    return submit(message, { type: 'new_task', key, task, desc: '', completed: false })
  }
  return (
    <fieldset class="widget">
      <legend>{title || words.tasks}</legend>
      {tasks.map(({ key, text, about, isDone }) => (
        <label class="choice" key={key}>
          <input
            type="checkbox"
            checked={isDone}
            onChange={async ({ currentTarget: box }) => {
              if (!(await submit(message, { type: 'strike', key }))) box.checked = isDone
            }}
          />
          <span class={isDone ? 'done' : undefined}>
            {text}
            {about && <span class="soft"> {about}</span>}
          </span>
        </label>
      ))}
      <AddRow label={words.newTask} add={add} />
    </fieldset>
  )
}

function ChoicesWidget({ realm, message, widget: { heading, choices } }: WidgetProps<ChoiceButtons>) {
  const conversation = conversationOf(message, realm.ownId)
  const sent = outbox.value.filter((one) => one.refusal === null && keyOf(one.conversation) === keyOf(conversation))
  return (
    <fieldset class="widget" onKeyDown={ignoreHeldEnter} onClickCapture={ignoreSecondClick}>
      <legend>{heading}</legend>
      <div class="row">
        {choices.map(({ label, reply }, at) => (
          <Action
            key={at}
            kind="small"
            busy={sent.some(({ content }) => content === reply) && label}
            about={reply === label ? undefined : reply}
            onClick={() => void send(conversation, reply)}
          >
            {label}
          </Action>
        ))}
      </div>
    </fieldset>
  )
}

/** The first click of a double click may have been answered before the second. */
function ignoreSecondClick(event: MouseEvent): void {
  if (event.detail > 1) event.stopPropagation()
}

function AddRow({ label, add }: { label: string; add: (text: string) => Promise<boolean> }) {
  const text = useSignal('')
  const act = async () => {
    const wanted = text.value.trim()
    if (wanted !== '' && (await add(wanted))) text.value = ''
  }
  return (
    <form
      class="line"
      onSubmit={(event) => {
        event.preventDefault()
        void act()
      }}
    >
      <Field label={label} bind={text} maxLength={OPTION_MAX} />
      <Action submit kind="small">
        {words.add}
      </Action>
    </form>
  )
}
