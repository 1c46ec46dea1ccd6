/** The API key of a bot, which can be replaced. */

import { Action, Code, Dialog } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import type { Participant } from '../model/types.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

export function KeyDialog({ bot: { user_id: id, full_name: name }, close }: { bot: Participant; close: () => void }) {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ api_key: string }>('GET', `/bots/${id}/api_key`, {}, { signal }),
  )
  const run = useRun()
  const replace = async () => {
    if (await run.start(words.saving, () => call('POST', `/bots/${id}/api_key/regenerate`))) await load()
    else noteFailure(run.error.value)
  }
  return (
    <Dialog title={words.keyOf(name)} close={close}>
      {value.value !== null && <Code label={words.keyOf(name)} text={value.value.api_key} />}
      <p class="soft">{words.keyText}</p>
      <Problem error={failure.value ?? run.error.value} />
      <div class="row">
        <Action onClick={close}>{words.dismiss}</Action>
        <Action kind="danger" busy={run.busy.value} onClick={() => void replace()}>
          {words.replaceKey}
        </Action>
      </div>
    </Dialog>
  )
}
