/** An update: uploaded, read about, installed or discarded, and followed until it is good or left. Contract section 9. */

import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { type Api, Refusal } from '../api.ts'
import { suspendIdle } from '../idle.ts'
import { Action, Code, FileDrop } from '../parts/controls.tsx'
import { Card, Row, Title } from '../parts/frame.tsx'
import { Problem, useLoad, useRun, Waiting } from '../parts/loading.tsx'
import { apiOf, ROOT_ADMINISTRATOR, refreshState } from '../state.ts'
import * as words from '../words.ts'
import { fallbackText } from './overview.tsx'
import { WithAccount } from './sign-in.tsx'

/** What was committed in this tab, over the restart of the appliance. */
const committed = signal<{ before: string; fallbackBefore: string } | null>(null)

export function UpdatePage() {
  return (
    <>
      <Title>{words.updateTitle}</Title>
      <WithAccount need={ROOT_ADMINISTRATOR} why={words.needAdministrator}>
        {(account) => <Update key={account.id} api={apiOf(account)} />}
      </WithAccount>
    </>
  )
}

interface Installed {
  version: string
  build: string
  fallback: string | null
}

async function installed(api: Api): Promise<Installed> {
  const [info, software] = await Promise.all([
    api.get<{ softwareVersion: string; softwareBuild: string }>('/system/info'),
    api.get<{ updateFallback?: unknown }>('/system/software'),
  ])
  const { updateFallback } = software
  return {
    version: info.softwareVersion,
    build: info.softwareBuild,
    fallback: updateFallback === undefined ? null : fallbackText(updateFallback),
  }
}

function Update({ api }: { api: Api }) {
  const loaded = useLoad(() => installed(api), [])
  const notes = useSignal<string | null>(null)
  const discarded = useSignal(false)
  const run = useRun()
  const now = loaded.value.value
  if (now === null) return <Waiting of={loaded} />

  const commit = () =>
    run.start(words.updateInstalling, () =>
      suspendIdle(async () => {
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
              {words.updateInstall}
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
  const file = useSignal<File | null>(null)
  const sent = useSignal<number | null>(null)
  const stop = useRef<AbortController | null>(null)
  const run = useRun()
  const submit = async () => {
    const controller = new AbortController()
    stop.current = controller
    let ticking: ReturnType<typeof setInterval> | undefined
    await run.start(words.loading, () =>
      suspendIdle(async () => {
        const image = file.value
        if (image === null) throw new Error(words.restoreMissing)
        const progress = (bytes: number) => {
          sent.value = bytes
          run.say(words.updateSending(bytes, image.size))
          if (bytes < image.size || ticking !== undefined) return
          const since = Date.now()
          ticking = setInterval(() => run.say(words.updateChecking((Date.now() - since) / 1000)), 500)
        }
        await api.get('/account') // with the same credentials, so that a 401 never reaches the upload
        const options = { body: image, type: 'application/octet-stream', progress, signal: controller.signal }
        uploaded((await api.json<{ releaseNotes: string }>('POST', '/system/update', options)).releaseNotes)
      }),
    )
    clearInterval(ticking)
    sent.value = null
  }
  const isPending =
    run.error.value instanceof Refusal && run.error.value.status === 409 && run.error.value.message.includes('pending')
  return (
    <Card>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void submit()
        }}
      >
        <FileDrop label={words.updateFile} hint={words.updateFileHint} bind={file} />
        {sent.value !== null && file.value && (
          <progress max={file.value.size} value={sent.value} aria-label={words.updateUpload} />
        )}
        {isPending ? (
          <div class="notice warn" role="alert">
            <p>{words.updatePendingAlready}</p>
            <Row>
              <Action onClick={discard}>{words.updateDiscard}</Action>
            </Row>
          </div>
        ) : (
          <Problem error={run.error.value} />
        )}
        <Row>
          <Action submit kind="primary" busy={run.busy.value}>
            {words.updateUpload}
          </Action>
          {run.busy.value !== false && (
            <Action onClick={() => stop.current?.abort(new Error(words.restoreStopped))}>{words.cancel}</Action>
          )}
        </Row>
      </form>
    </Card>
  )
}

/** What became of the update that was committed here: the view opens anew once the appliance is back. */
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
