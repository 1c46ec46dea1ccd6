/** Reads, edits and writes settings that are one JSON object. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'
import { defined } from '../../base/defined.ts'
import { ApiError } from '../../client/request.ts'
import { Field, member, Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import * as words from '../words.ts'
import { Card } from './frame.tsx'
import { Form, useLoad, Waiting } from './loading.tsx'

type Values = Record<string, string>

/** Form for members of one resource. A change sends the etag of the values shown, so that it cannot undo another administrator's change. */
export function Resource(props: {
  api: Api
  path: string
  title: string
  about?: ComponentChildren
  /** Shown of the value below `about`. */
  status?: (value: Record<string, unknown>) => ComponentChildren
  fields: Readonly<Record<string, string>>
  hints?: Readonly<Record<string, string>>
  choices?: Readonly<Record<string, readonly (readonly [string, string])[]>>
  /** Members that are typed without showing them. */
  secrets?: readonly string[]
  read?: (value: Record<string, unknown>) => Values
  write: (values: Values) => unknown
  saved?: (values: Values) => ComponentChildren
  done?: () => void
}) {
  const {
    api,
    path,
    title,
    about,
    status,
    fields,
    hints = {},
    choices = {},
    secrets = [],
    read = flat,
    write,
    saved,
    done: after,
  } = props
  const draft = useSignal<Values>({})
  const loaded = useLoad(async () => {
    const shown = await api.tagged<Record<string, unknown>>(path)
    draft.value = read(shown.value)
    return shown
  }, [])
  const done = useSignal<Values | null>(null)
  const run = useRun()
  const readAgain = useRef(Promise.resolve())
  /** Shows what is stored now, and keeps what was typed since `sent`. */
  const refresh = async (sent: Values) => {
    if (loaded.error.value) return loaded.reload()
    try {
      const shown = await api.tagged<Record<string, unknown>>(path)
      const typed = Object.entries(draft.value).filter(([name, text]) => text !== sent[name])
      draft.value = { ...read(shown.value), ...Object.fromEntries(typed) }
      loaded.value.value = shown
    } catch {
      loaded.reload()
    }
  }
  const submit = async () => {
    done.value = null
    let sent: Values = {}
    const change = async () => {
      await readAgain.current // the etag before is that of older values
      sent = draft.value
      await api.call('PUT', path, { json: write(sent), etag: defined(loaded.value.value).etag })
    }
    if (await run.start(words.saving, change)) {
      done.value = sent
      readAgain.current = refresh(sent)
      after?.()
    } else if (run.error.value instanceof ApiError && run.error.value.status === 412) loaded.reload()
  }
  return (
    <Card title={title}>
      {about && <p class="hint">{about}</p>}
      <Waiting of={loaded} />
      {loaded.value.value !== null && status?.(loaded.value.value.value)}
      {loaded.value.value !== null && (
        <Form
          run={run}
          submit={submit}
          kind=""
          action={words.settingsSave(title)}
          said={done.value !== null && words.settingsSaved}
        >
          {Object.entries(fields).map(([name, label]) => {
            const common = { label, bind: member(draft, name), hint: hints[name] }
            const options = choices[name]
            const type = secrets.includes(name) ? 'password' : 'text'
            return options ? (
              <Select key={name} {...common} options={options} />
            ) : (
              <Field key={name} type={type} {...common} />
            )
          })}
          {done.value !== null && saved?.(done.value)}
        </Form>
      )}
    </Card>
  )
}

/** Throws `Error` if the text is not a whole number. `Number` would read an empty text as 0. */
export function wholeNumber(text: string | undefined, label: string): number {
  if (!/^\d+$/.test(text?.trim() ?? '')) throw new Error(words.notWhole(label))
  return Number(text)
}

/** Reads a list that is separated by spaces or commas. */
export const listOf = (text = ''): string[] => text.split(/[\s,]+/).filter(Boolean)

export const flat = (value: Record<string, unknown>): Values =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name, String(member)]))
