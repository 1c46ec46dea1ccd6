/**
 * Uploads an update, shows its release notes, installs or discards it, and follows it until it is committed or rolled back.
 * Contract section 9.
 */

import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Code } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import type { Api } from '../api.ts'
import { fallbackText } from '../format.ts'
import { holdView } from '../idle.ts'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Problem, type Sending, SendOrStop, useLoad, Waiting } from '../parts/loading.tsx'
import { refreshState } from '../state.ts'
import * as words from '../words.ts'

/** Versions before an update that this tab installed. Survives the restart of the appliance. */
const committed = signal<{ before: string; fallbackBefore: string } | null>(null)

interface Installed {
  version: string
  build: string
  fallback: string | null
}

async function installed(api: Api): Promise<Installed> {
  const [info, software] = await Promise.all([
    api.get<T.SystemInfo>('/system/info'),
    api.get<T.Software>('/system/software'),
  ])
  const { updateFallback } = software
  return {
    version: software.version ?? info.softwareVersion,
    build: software.build ?? info.softwareBuild,
    fallback: updateFallback === undefined ? null : fallbackText(updateFallback),
  }
}

export function UpdatePage({ api }: ViewProps) {
  const loaded = useLoad(() => installed(api), [])
  const notes = useSignal<string | null>(null)
  const discarded = useSignal(false)
  const run = useRun()
  const now = loaded.value.value
  if (now === null) return <Waiting of={loaded} />

  const commit = () =>
    run.start(words.restarting, () =>
      holdView(async () => {
        await api.call('POST', '/system/commit-update')
        committed.value = { before: now.build + now.version, fallbackBefore: now.fallback ?? '' }
        notes.value = null
        await refreshState()
      }),
    )
  const discard = async () => {
    discarded.value = await run.start(words.updateDiscarding, () => api.call('POST', '/system/cancel-update'))
    if (discarded.value) notes.value = null
  }
  return (
    <>
      <Outcome now={now} reload={loaded.reload} />
      <p>{words.updateLead(now.version)}</p>
      {now.fallback !== null && committed.value === null && (
        <div class="notice warn">
          <strong>{words.updateLastFallback}</strong>
          <p>{now.fallback}</p>
        </div>
      )}
      {notes.value === null ? (
        <Upload
          api={api}
          uploaded={(text) => {
            notes.value = text
            discarded.value = false
          }}
          discard={discard}
        />
      ) : (
        <Card title={words.updateNotes}>
          <Code label={words.updateNotes} text={notes.value} />
          <p>{words.updatePending}</p>
          <Row>
            <Action kind="primary" busy={run.busy.value} onClick={commit}>
              {words.install}
            </Action>
            <Action busy={run.busy.value === false ? false : words.updateDiscard} onClick={discard}>
              {words.updateDiscard}
            </Action>
          </Row>
        </Card>
      )}
      <Problem error={run.error.value} />
      <div role="status">{discarded.value && <div class="notice good">{words.updateDiscarded}</div>}</div>
    </>
  )
}

function Upload({ api, uploaded, discard }: { api: Api; uploaded: (notes: string) => void; discard: () => unknown }) {
  const notes = useRef('')
  const send: Sending = async (body, progress, signal) => {
    await api.get('/account') // checks the credentials first: a 401 of the upload would open the browser's own sign-in dialog
    const options = { body, type: 'application/octet-stream', progress, signal }
    notes.current = (await api.json<{ releaseNotes: string }>('POST', '/system/update', options)).releaseNotes
  }
  return (
    <SendOrStop
      label={words.updateFile}
      hint={words.updateFileHint}
      action={words.updateUpload}
      checking={words.updateChecking}
      prepare={() => send}
      done={() => uploaded(notes.current)}
      problem={(error) =>
        error instanceof ApiError && error.status === 409 && error.message.includes('pending') ? (
          <div class="notice warn" role="alert">
            <p>{words.updatePendingAlready}</p>
            <Row>
              <Action onClick={discard}>{words.updateDiscard}</Action>
            </Row>
          </div>
        ) : (
          <Problem error={error} />
        )
      }
    />
  )
}

/** Result of the update that this tab installed. The view opens again once the appliance is back. */
function Outcome({ now, reload }: { now: Installed; reload: () => void }) {
  const watched = committed.value
  const isGood = watched !== null && now.build + now.version !== watched.before
  const isLeft = watched !== null && !isGood && now.fallback !== null && now.fallback !== watched.fallbackBefore
  const isOpen = watched !== null && !isGood && !isLeft
  useEffect(() => {
    if (!isOpen) return
    const timer = setInterval(reload, 2000)
    return () => clearInterval(timer)
  }, [isOpen, reload])
  return (
    <div role="status">
      {isOpen && <div class="notice">{words.updateWatch}</div>}
      {isGood && (
        <div class="notice good">
          <strong>{words.updateGood(now.version)}</strong>
        </div>
      )}
      {isLeft && (
        <div class="notice bad">
          <strong>{words.updateFellBack}</strong>
          <p>{now.fallback}</p>
        </div>
      )}
    </div>
  )
}
