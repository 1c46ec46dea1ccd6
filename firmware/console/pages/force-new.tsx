/** Turns a node whose cluster is lost into the only member of a new one: `POST /cluster/force-new`, contract section 3.6. */

import { useRef } from 'preact/hooks'
import { openApi } from '../api.ts'
import { Passphrase, type PassphraseHandle } from '../parts/controls.tsx'
import { Card, Row } from '../parts/frame.tsx'
import { Confirm } from '../parts/loading.tsx'
import { refreshState } from '../state.ts'
import * as words from '../words.ts'

const UNLOCKER = 'unlock' // the user whose passphrase is the unlock passphrase

export interface Diagnose {
  clusterState: { running: boolean; exited?: number; signaled?: number }
}

/** Shows nothing on a standalone node, which has no etcd. */
export function ForceNewOfMember({ diagnose }: { diagnose: Diagnose | null }) {
  if (diagnose === null) return null
  const { running, exited, signaled } = diagnose.clusterState
  return running || exited !== undefined || signaled !== undefined ? <ForceNew /> : null
}

export function ForceNew() {
  const hold = useRef<PassphraseHandle | null>(null)
  const leave = async () => {
    const passphrase = hold.current?.read()
    if (typeof passphrase !== 'string') throw new Error(words.passphraseMissing)
    await openApi({ user: UNLOCKER, passphrase }).call('POST', '/cluster/force-new')
  }
  return (
    <Card title={words.forceNew}>
      <p>{words.forceNewText}</p>
      <Row>
        <Confirm
          title={words.forceNew}
          what={words.forceNewText}
          typed={words.forceNewTyped}
          saying={words.saving}
          work={leave}
          done={refreshState}
        >
          <Passphrase label={words.unlockPassphrase} hold={hold} />
        </Confirm>
      </Row>
    </Card>
  )
}
