/** Settings that new accounts begin with. */

import { call } from '../api.ts'
import { displayRows, notificationRows, privacyRows } from '../settings/preferences.tsx'
import { SettingGroup, type SettingRow } from '../settings/setting.tsx'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'

/** Settings that no default exists for. Contract section 2.7. */
const PERSONAL: ReadonlySet<string> = new Set(['default_language', 'timezone', 'allow_private_data_export'])

const groups = (): readonly (readonly [title: string, rows: readonly SettingRow[]])[] => [
  [words.settingsSections.display, displayRows().filter(({ name }) => !PERSONAL.has(name))],
  ...notificationRows(),
  [words.settingsSections.privacy, privacyRows().filter(({ name }) => !PERSONAL.has(name))],
]

/** The API tells the defaults in the answer of POST /register alone; the unused queue is deleted. */
async function readDefaults(signal: AbortSignal): Promise<Record<string, unknown>> {
  const { queue_id: queueId, realm_user_settings_defaults: defaults } = await call<{
    queue_id: string
    realm_user_settings_defaults: Record<string, unknown>
  }>(
    'POST',
    '/register',
    {
      ...{ fetch_event_types: ['realm_user_settings_defaults'], event_types: ['realm_user_settings_defaults'] },
      client_gravatar: false,
    },
    { signal },
  )
  await call('DELETE', '/events', { queue_id: queueId })
  return defaults
}

export function DefaultsSection() {
  const { value, failure, load } = useLoaded(readDefaults)
  const save = async (name: string, chosen: unknown) => {
    await call('PATCH', '/realm/user_settings_defaults', { [name]: chosen })
    await load()
  }
  if (value.value === null)
    return failure.value ? <Problem error={failure.value} /> : <p class="hint">{words.loading}</p>
  const values = value.value
  return (
    <>
      <p class="soft lead">{words.defaultsLead}</p>
      {groups().map(([title, rows]) => (
        <SettingGroup key={title} title={title} rows={rows} values={values} save={save} />
      ))}
    </>
  )
}
