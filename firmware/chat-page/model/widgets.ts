/** Reads polls, task lists and buttons of bots from the submessages of a message. `chat/CONTRACT.md`, section 6.5. */

import type { ReceivedSubmessage } from './types.ts'

export interface Poll {
  readonly kind: 'poll'
  readonly question: string
  readonly options: readonly { readonly key: string; readonly text: string; readonly voters: readonly number[] }[]
}

export interface TaskList {
  readonly kind: 'todo'
  readonly title: string
  readonly tasks: readonly {
    readonly key: string
    readonly text: string
    readonly about: string
    readonly isDone: boolean
  }[]
}

export interface ChoiceButtons {
  readonly kind: 'choices'
  readonly heading: string
  readonly choices: readonly { readonly label: string; readonly reply: string }[]
}

// biome-ignore lint/suspicious/noExplicitAny: other clients write them; each member is checked before use
type Data = any

export function readWidget(
  submessages: readonly ReceivedSubmessage[],
  authorId: number,
): Poll | TaskList | ChoiceButtons | null {
  const [first, ...events] = [...submessages].sort((a, b) => a.id - b.id)
  if (first === undefined || first.msg_type !== 'widget' || first.sender_id !== authorId) return null
  const { widget_type: type, extra_data: data } = parsed(first.content) ?? {}
  const acts = events.map(({ sender_id: sender, content }) => ({ sender, data: parsed(content) }))
  if (type === 'poll') return readPoll(data ?? {}, acts, authorId)
  if (type === 'todo') return readTasks(data ?? {}, acts, authorId)
  if (type === 'zform') return readChoices(data ?? {})
  return null
}

interface Act {
  sender: number
  data: Data
}

function readPoll(data: Data, acts: readonly Act[], authorId: number): Poll {
  const options = new Map<string, { text: string; voters: Set<number> }>()
  let question = textOf(data.question)
  for (const [at, text] of listOf(data.options).entries())
    options.set(`canned,${at}`, { text: textOf(text), voters: new Set() })
  for (const { sender, data: act } of acts) {
    if (act?.type === 'new_option' && typeof act.option === 'string' && Number.isInteger(act.idx)) {
      const isKnown = [...options.values()].some(({ text }) => text === act.option)
      if (!isKnown) options.set(`${sender},${act.idx}`, { text: act.option, voters: new Set() })
    }
    if (act?.type === 'question' && sender === authorId) question = textOf(act.question)
    if (act?.type === 'vote') {
      const voters = options.get(textOf(act.key))?.voters
      if (act.vote === 1) voters?.add(sender)
      else voters?.delete(sender)
    }
  }
  return {
    kind: 'poll',
    question,
    options: [...options].map(([key, { text, voters }]) => ({ key, text, voters: [...voters] })),
  }
}

function readTasks(data: Data, acts: readonly Act[], authorId: number): TaskList {
  const tasks = new Map<string, { text: string; about: string; isDone: boolean }>()
  let title = textOf(data.task_list_title)
  const add = (key: string, task: Data) =>
    tasks.set(key, { text: textOf(task?.task), about: textOf(task?.desc), isDone: false })
  for (const [at, task] of listOf(data.tasks).entries()) add(`canned,${at}`, task)
  for (const { sender, data: act } of acts) {
    if (act?.type === 'new_task' && Number.isInteger(act.key)) add(`${sender},${act.key}`, act)
    if (act?.type === 'new_task_list_title' && sender === authorId) title = textOf(act.title)
    const struck = act?.type === 'strike' ? tasks.get(textOf(act.key)) : undefined
    if (struck !== undefined) struck.isDone = !struck.isDone
  }
  return { kind: 'todo', title, tasks: [...tasks].map(([key, task]) => ({ key, ...task })) }
}

const readChoices = (data: Data): ChoiceButtons => ({
  kind: 'choices',
  heading: textOf(data.heading),
  choices: listOf(data.choices).flatMap((one) => {
    const reply = textOf(one?.reply)
    if (reply.trim() === '') return [] // no message may be empty
    return { label: textOf(one?.long_name) || textOf(one?.short_name) || reply, reply }
  }),
})

/** Index of the next option or task that this account adds. */
export const nextIndex = (keys: readonly string[], ownId: number): number =>
  Math.max(0, ...keys.filter((key) => key.startsWith(`${ownId},`)).map((key) => Number(key.split(',')[1]))) + 1

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const listOf = (value: unknown): Data[] => (Array.isArray(value) ? value : [])

function parsed(content: string): Data {
  try {
    return JSON.parse(content)
  } catch {
    return null
  }
}
