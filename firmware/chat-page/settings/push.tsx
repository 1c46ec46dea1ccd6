/** Notifications of this browser while no tab of the page is open. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { isKept } from '../kept.ts'
import { permission } from '../notify.ts'
import { canBePushed, type PushInfo, readPushInfo, testPush, turnPushOff, turnPushOn } from '../push.ts'
import { isPushed } from '../shell.ts'
import { useLoaded } from '../views/loaded.ts'
import { Problem } from '../views/problem.tsx'
import { words } from '../words/words.ts'
import { Setting } from './setting.tsx'

export function PushSettings() {
  const { value, failure, load } = useLoaded(readPushInfo)
  const info = value.value
  return (
    <section class="form">
      <h2>{words.whilePageIsClosed}</h2>
      <Problem error={failure.value} also={<Action onClick={() => void load()}>{words.again}</Action>} />
      {info !== null && <PushChoice info={info} load={load} />}
    </section>
  )
}

function PushChoice({ info: { key, hosts, content, subscribed }, load }: { info: PushInfo; load: () => unknown }) {
  const obstacle = obstacleOf(key)
  if (obstacle !== null) return <p class="soft">{obstacle}</p>
  const isOn = isPushed.value || (subscribed && permission.value === 'granted')
  const save = async (wanted: unknown) => {
    await (wanted === true ? turnPushOn(key) : turnPushOff())
    load()
  }
  const row = {
    name: 'push',
    label: words.pushThisBrowser,
    hint: words.pushHint(hosts, content),
    input: 'bool',
  } as const
  return (
    <>
      <Setting row={row} value={isOn} save={save} />
      {isOn && <TestPush />}
    </>
  )
}

/** Why this browser cannot be notified; null if it can. */
function obstacleOf(key: string): string | null {
  if (key === '') return words.pushIsOff
  if (!isKept()) return words.pushNeedsDevice
  if (!canBePushed()) return words.pushNotPossible
  return null
}

function TestPush() {
  const run = useRun()
  const status = useSignal<number | null>(null)
  const test = () =>
    run.start(words.pushTesting, async () => {
      status.value = (await testPush()).status
    })
  return (
    <>
      <Action kind="small" busy={run.busy.value} onClick={() => void test()}>
        {words.pushTest}
      </Action>
      <span role="status">{status.value !== null && words.pushTestedBy(status.value)}</span>
      <Problem error={run.error.value} />
    </>
  )
}
