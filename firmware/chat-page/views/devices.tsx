/** Sessions and API keys of the account. Revoking one ends its open requests at once. */

import { useSignal } from '@preact/signals'
import { Action, Dialog } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { disconnect, noteFailure } from '../connection.ts'
import * as words from '../words/en.ts'
import { ViewTitle } from './frame.tsx'
import { useLoaded } from './loaded.ts'
import { Problem } from './problem.tsx'

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

export function DevicesView() {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ api_keys: Key[] }>('GET', '/users/me/api_keys', {}, { signal }).then(({ api_keys: keys }) => keys),
  )
  const asked = useSignal<Key | null>(null)
  const close = () => {
    asked.value = null
  }
  const all = value.value ?? []
  return (
    <div class="view">
      <ViewTitle title={words.devices} />
      <p class="soft lead">{words.devicesLead}</p>
      <Problem error={failure.value} also={<Action onClick={() => void load()}>{words.again}</Action>} />
      {value.value === null && !failure.value && <p class="hint">{words.loading}</p>}
      <KeyList title={words.sessions} keys={all.filter(({ device }) => device !== null)} ask={asked} />
      <KeyList title={words.apiKeys} keys={all.filter(({ device }) => device === null)} ask={asked} />
      {asked.value !== null && <RevokeDialog entry={asked.value} close={close} done={() => void load()} />}
    </div>
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
  const run = useRun()
  const act = async () => {
    if (!(await run.start(words.revoking, () => call('DELETE', `/users/me/api_keys/${entry.id}`))))
      return noteFailure(run.error.value)
    if (entry.is_current) return disconnect('left')
    close()
    done()
  }
  return (
    <Dialog title={words.revokeTitle(entry.device ?? entry.client)} close={close}>
      <p>{entry.is_current ? words.revokeThis : words.revokeText}</p>
      <Problem error={run.error.value} />
      <div class="row">
        <Action kind="danger" busy={run.busy.value} onClick={() => void act()}>
          {words.revoke}
        </Action>
        <Action onClick={close}>{words.cancel}</Action>
      </div>
    </Dialog>
  )
}
