/** A dialog over any view, in a script of its own. Until that is loaded, an empty one holds the focus. */

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { Dialog } from '../../web/controls.tsx'
import type { RealmView } from '../model/realm.ts'
import { attempt } from '../problems.ts'
import { openDialog } from '../wanted.ts'
import { words } from '../words/words.ts'
import { loadMore } from './area.tsx'

const close = (): void => {
  openDialog.value = null
}

export function OpenDialog({ realm }: { realm: RealmView }) {
  useEffect(() => close, []) // none is left open for the time after a lock or a sign-out
  return openDialog.value !== null && <LoadedDialog realm={realm} name={openDialog.value} key={openDialog.value} />
}

function LoadedDialog({ realm, name }: { realm: RealmView; name: 'shortcuts' | 'switcher' }) {
  const part = useSignal<Awaited<ReturnType<typeof loadMore>> | null>(null)
  useEffect(() => {
    const load = async () => {
      part.value = await loadMore()
    }
    void attempt(load()).then((isLoaded) => isLoaded || close())
  }, [])
  const isSwitcher = name === 'switcher'
  return (
    <Dialog title={isSwitcher ? words.switchTo : words.shortcuts} close={close}>
      {part.value === null ? (
        <p class="hint">{words.loading}</p>
      ) : isSwitcher ? (
        <part.value.Switcher realm={realm} close={close} />
      ) : (
        <part.value.ShortcutList close={close} />
      )}
    </Dialog>
  )
}
