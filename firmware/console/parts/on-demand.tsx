/** Components of `on-demand.ts`. They appear once the browser has loaded the script. */

import type { ComponentChildren } from 'preact'
import { loadOnDemand } from '../load-on-demand.ts'
import { useLoad, Waiting } from './loading.tsx'

type Component<Props> = (props: Props) => ComponentChildren

export function onDemand<Props extends object>(
  pick: (parts: Awaited<ReturnType<typeof loadOnDemand>>) => Component<Props>,
): Component<Props> {
  return function OnDemand(props) {
    const loaded = useLoad(async () => ({ Found: pick(await loadOnDemand()) }), [])
    const found = loaded.value.value
    return found === null ? <Waiting of={loaded} /> : <found.Found {...props} />
  }
}
