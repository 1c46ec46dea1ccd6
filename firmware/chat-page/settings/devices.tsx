/** Sessions and API keys of the account. Revoking one ends its open requests at once. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import { endSession } from '../connection.ts'
import { isKept } from '../kept.ts'
import { shell } from '../shell.ts'
import { ConfirmDialog } from '../views/form-dialog.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

/** An element of GET /users/me/api_keys. */
interface Key {
  id: number
  client: string
  /** Null for an API key. */
  device: string | null
  is_current: boolean
  /** Unix time in seconds. */
  date_created: number
  last_used: number
}

export function DevicesSection() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ api_keys: Key[] }>('GET', '/users/me/api_keys', {}, { signal }).then(({ api_keys: keys }) => keys),
  )
  const asked = useSignal<Key | null>(null)
  const close = () => {
    asked.value = null
  }
  const all = value.value ?? []
  return (
    <>
      <p class="soft lead">{words.devicesLead}</p>
      <p class="lead">{isKept() ? words.shells[shell.value] : words.keepsNothing}</p>
      <Problem error={failure.value} also={<Action onClick={() => void load()}>{words.again}</Action>} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      <KeyList title={words.sessions} keys={all.filter(({ device }) => device !== null)} ask={asked} />
      <KeyList title={words.apiKeys} keys={all.filter(({ device }) => device === null)} ask={asked} />
      {asked.value !== null && <RevokeDialog entry={asked.value} close={close} done={() => void load()} />}
    </>
  )
}

function KeyList({ title, keys, ask }: { title: string; keys: readonly Key[]; ask: { value: Key | null } }) {
  if (keys.length === 0) return null
  return (
    <section class="group">
      <h2>{title}</h2>
      <ul class="rows">
        {[...keys]
          .sort((a, b) => Number(b.is_current) - Number(a.is_current) || b.last_used - a.last_used)
          .map((one) => (
            <li key={one.id} class="row-entry">
              <div>
                <strong>{one.device ?? one.client}</strong>
                {one.is_current && <span class="tag">{words.thisDevice}</span>}
                <p class="soft">
                  {words.sinceAndUsed(new Date(one.date_created * 1000), new Date(one.last_used * 1000))}
                </p>
              </div>
              <Action
                kind="small danger"
                label={words.revokeNamed(one.device ?? one.client)}
                onClick={() => {
                  ask.value = one
                }}
              >
                {words.revoke}
              </Action>
            </li>
          ))}
      </ul>
    </section>
  )
}

function RevokeDialog({ entry, close, done }: { entry: Key; close: () => void; done: () => void }) {
  const act = async () => {
    const revoke = () => call('DELETE', `/users/me/api_keys/${entry.id}`)
    if (entry.is_current) return endSession(revoke)
    await revoke()
    done()
  }
  return (
    <ConfirmDialog
      title={words.revokeTitle(entry.device ?? entry.client)}
      action={words.revoke}
      busy={words.revoking}
      act={act}
      close={close}
    >
      <p>{entry.is_current ? words.revokeThis : words.revokeText}</p>
    </ConfirmDialog>
  )
}
