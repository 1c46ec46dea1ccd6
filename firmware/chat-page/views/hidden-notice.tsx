import { Action } from '../../web/controls.tsx'
import { words } from '../words/words.ts'

/** In the place of a message that is not shown until the user wants it. */
export const HiddenNotice = ({ text, reveal }: { text: string; reveal: () => void }) => (
  <p class="soft">
    {text}{' '}
    <Action kind="link" onClick={reveal}>
      {words.show}
    </Action>
  </p>
)
