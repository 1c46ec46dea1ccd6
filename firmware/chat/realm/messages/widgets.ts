/** Widgets of messages: polls, to-do lists and choices. Contract section 6.5. */

import { z } from 'zod'
import { defined } from '../../../base/defined.ts'
import { expectName, nameString, textString } from '../../base/characters.ts'

export type Widget =
  | { widget_type: 'poll'; extra_data: { question: string; options: string[] } }
  | { widget_type: 'todo'; extra_data: { task_list_title: string; tasks: { task: string; desc: string }[] } }
  | { widget_type: 'zform'; extra_data: Choices }

/** Replies that a bot offers as buttons. A click sends the reply. */
export const CHOICES = z.object({
  widget_type: z.literal('zform'),
  extra_data: z.strictObject({
    type: z.literal('choices'),
    heading: nameString(),
    choices: z.array(
      z.strictObject({
        type: nameString().optional(),
        reply: textString(),
        long_name: nameString(),
        short_name: nameString(),
      }),
    ),
  }),
})
export type Choices = z.output<typeof CHOICES>['extra_data']

export const OPTIONS_MAX = 1001 // contract section 9

/** Returns undefined unless the message is a `/poll` or `/todo` command. Throws `BAD_REQUEST` if a name has invalid characters. */
export function widgetOf(content: string): Widget | undefined {
  const command = /^\/(poll|todo)(?!\S)/.exec(content)
  if (command === null) return undefined
  const [title = '', ...lines] = content.slice(command[0].length).split(/\r\n|\r|\n/)
  const items = lines.map(withoutBullet).filter((item) => item !== '')
  for (const text of [title.trim(), ...items]) expectName(text, defined(command[1]))
  if (command[1] === 'poll')
    return { widget_type: 'poll', extra_data: { question: title.trim(), options: items.slice(0, OPTIONS_MAX) } }
  return { widget_type: 'todo', extra_data: { task_list_title: title.trim(), tasks: items.map(taskOf) } }
}

const withoutBullet = (line: string): string => line.trim().replace(/^[-*]?\s*/, '')

function taskOf(item: string): { task: string; desc: string } {
  const at = item.indexOf(': ')
  return at < 0 ? { task: item, desc: '' } : { task: item.slice(0, at).trim(), desc: item.slice(at + 2).trim() }
}
