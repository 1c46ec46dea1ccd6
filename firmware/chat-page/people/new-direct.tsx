/** Starts a direct conversation with one or more people. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { directWith } from '../model/conversation.ts'
import { linkTo } from '../names.ts'
import { go } from '../place.ts'
import type { AreaProps } from '../views/area.tsx'
import { ViewTitle } from '../views/frame.tsx'
import { words } from '../words/words.ts'
import { PeoplePicker } from './people-picker.tsx'

export function NewDirectView({ realm }: AreaProps) {
  const chosen = useSignal<readonly number[]>([])
  return (
    <div class="view">
      <ViewTitle title={words.newDirect} />
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (chosen.value.length > 0) go(linkTo(realm, directWith(chosen.value, realm.ownId)))
        }}
      >
        <PeoplePicker realm={realm} label={words.findPeople} chosen={chosen} />
        {chosen.value.length > 0 && (
          <div>
            <Action submit kind="primary">
              {words.writeMessage}
            </Action>
          </div>
        )}
      </form>
    </div>
  )
}
