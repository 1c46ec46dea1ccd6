/** Views in scripts of their own, which the browser loads with the first of them. */

import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { Action } from '../../web/controls.tsx'
import type { AreaName } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { words } from '../words/words.ts'
import { Entry } from './entry.tsx'
import { useLoaded } from './loaded.ts'
import { Problem } from './problem.tsx'

export interface AreaProps {
  realm: RealmView
  /** Parts of the fragment after the name of the area, decoded. */
  path: readonly string[]
  /** Renders the view again after each event. */
  revision: number
}

type Area = (props: AreaProps) => ComponentChildren
type Areas = Readonly<Partial<Record<AreaName, Area>>>

/** Throws `Error` if the script is missing: the page is older than the server, or the server does not answer. */
async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load()
  } catch {
    throw new Error(words.partMissing)
  }
}

export const loadMore = () => loadPart(() => import('../on-demand/more.ts'))

const loadLinkPages = () => loadPart(() => import('../on-demand/links.ts'))

const loadAreas = async (area: AreaName): Promise<Areas> =>
  (area === 'organization' ? await loadPart(() => import('../on-demand/organization.ts')) : await loadMore()).AREAS

/** `isJoining` for an invitation, else for a new password. `linkKey` is the key after the `#` of the address. */
export function LinkPage({ isJoining, linkKey }: { isJoining: boolean; linkKey: string }) {
  const { value, failure } = useLoaded(loadLinkPages)
  if (value.value === null)
    return <Entry title={words.loading}>{failure.value !== null && <PartMissing error={failure.value} />}</Entry>
  const { JoinPage, PasswordPage } = value.value
  return isJoining ? <JoinPage invitation={linkKey} /> : <PasswordPage link={linkKey} />
}

const PartMissing = ({ error }: { error: unknown }) => (
  <Problem error={error} also={<Action onClick={() => location.reload()}>{words.again}</Action>} />
)

export function AreaView({ area, ...props }: AreaProps & { area: AreaName }) {
  const loaded = useSignal<{ area: AreaName; View: Area } | null>(null)
  const failure = useSignal<unknown>(null)
  useEffect(() => {
    let isGone = false
    failure.value = null
    loadAreas(area).then(
      (areas) => {
        const View = areas[area]
        if (!isGone && View !== undefined) loaded.value = { area, View }
      },
      (error: unknown) => {
        if (!isGone) failure.value = error
      },
    )
    return () => {
      isGone = true
    }
  }, [area])
  if (failure.value)
    return (
      <div class="view">
        <PartMissing error={failure.value} />
      </div>
    )
  if (loaded.value?.area !== area) return <p class="view hint">{words.loading}</p>
  const { View } = loaded.value
  return <View {...props} key={[area, ...props.path].join('/')} />
}
