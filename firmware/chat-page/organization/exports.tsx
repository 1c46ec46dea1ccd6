/** Exports of the organization. */

import { useSignal } from '@preact/signals'
import { Action, Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { call } from '../api.ts'
import { noteFailure } from '../connection.ts'
import { isOwner } from '../model/rights.ts'
import { personName } from '../names.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { dateAndTime } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'
import { RecordList } from './record-list.tsx'

interface Export {
  id: number
  acting_user_id: number
  export_time: number
  deleted_timestamp: number | null
  failed_timestamp: number | null
  /** Good for a minute. */
  export_url: string | null
  pending: boolean
  export_type: keyof typeof words.exportTypes
}

export function ExportsSection({ realm }: OrganizationProps) {
  const { value, failure, load } = useLoaded((signal) =>
    call<{ exports: Export[] }>('GET', '/export/realm', {}, { signal }),
  )
  const consents = useLoaded((signal) =>
    call<{ export_consents: { consented: boolean }[] }>('GET', '/export/realm/consents', {}, { signal }),
  )
  const type = useSignal<string>('public')
  const run = useRun()
  const make = async () => {
    if (!(await run.start(words.saving, () => call('POST', '/export/realm', { export_type: type.value }))))
      noteFailure(run.error.value)
    await load()
  }
  const isAll = isOwner(realm) && realm.organization.owner_full_content_access === true
  const types = Object.entries(words.exportTypes).filter(([one]) => one !== 'full_without_consent' || isAll)
  const all = consents.value.value?.export_consents ?? []
  const consenting = all.filter(({ consented }) => consented).length
  return (
    <>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void make()
        }}
      >
        <Select label={words.exportType} bind={type} options={types} hint={words.consents(consenting, all.length)} />
        <Problem error={run.error.value ?? failure.value} />
        <div class="row">
          <Action submit busy={run.busy.value}>
            {words.makeExport}
          </Action>
          <Action kind="link" onClick={() => void load()}>
            {words.refresh}
          </Action>
        </div>
      </form>
      <RecordList
        empty={words.noExports}
        records={(value.value?.exports ?? [])
          .filter(({ deleted_timestamp: gone }) => gone === null)
          .toReversed()
          .map((one) => ({
            id: one.id,
            title: dateAndTime(new Date(one.export_time * 1000)),
            about: (
              <>
                {words.exportTypes[one.export_type]} · {personName(realm, one.acting_user_id)} · <State of={one} />
              </>
            ),
          }))}
        fields={[]}
        remove={async (id) => {
          await call('DELETE', `/export/realm/${id}`)
          await load()
        }}
      />
    </>
  )
}

function State({ of: { pending, failed_timestamp: failed, export_url: url } }: { of: Export }) {
  if (failed !== null || pending || url === null)
    return failed !== null ? words.exportFailed : pending ? words.exportPending : words.exportDone
  const { pathname, search } = new URL(url)
  return <a href={pathname + search}>{words.download}</a>
}
