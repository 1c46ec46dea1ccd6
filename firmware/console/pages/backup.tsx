/** Makes a backup. Streams it to disk where the browser supports that, else collects it in a Blob. Contract section 8. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { chunksOf } from '../chunks.ts'
import { fileTime } from '../format.ts'
import { suspendIdle } from '../idle.ts'
import { saveFile } from '../parts/controls.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Canceled, Problem, useLoad, Waiting } from '../parts/loading.tsx'
import { accountFor, apiOf, applianceNow, ROOT_ADMINISTRATOR } from '../state.ts'
import * as words from '../words.ts'

/** Destination of a file: a stream of the File System API, or memory. */
interface Sink {
  write(chunk: Uint8Array<ArrayBuffer>): Promise<void>
  finish(): Promise<void>
  abort(): Promise<void>
}

interface Result {
  name: string
  bytes: number
  /** Names of omitted parts: contract section 8.2. */
  omits: readonly string[]
}

export function BackupPage({ api }: ViewProps) {
  const chosen = useSignal<T.BackupStatus['defaultFormat'] | null>(null)
  const status = useLoad((signal) => api.get<T.BackupStatus>('/system/backup-status', signal), [])
  const result = useSignal<Result | null>(null)
  const stop = useRef<AbortController | null>(null)
  const run = useRun()
  const form = {
    get value() {
      return chosen.value ?? status.value.value?.defaultFormat ?? 'coffer'
    },
    set value(name: string) {
      chosen.value = name as T.BackupStatus['defaultFormat']
    },
  }
  const willOmit = form.value === 'nethsm' ? (status.value.value?.nethsmOmits ?? []) : []
  const start = () => {
    result.value = null
    const controller = new AbortController()
    stop.current = controller
    const { signal } = controller
    return run.start(words.backupRunning(0, 0), async () => {
      const name = `coffer-${await deviceId()}${fileTime(applianceNow())}.backup`
      // Opened first: the browser allows it only shortly after the click.
      const sink = await openSink(name)
      try {
        const { bytes, omits } = await suspendIdle(() => copy(sink, signal))
        await sink.finish()
        result.value = { name, bytes, omits }
      } catch (error) {
        await sink.abort()
        throw signal.aborted ? new Canceled(words.backupCanceled) : error
      }
    })
  }
  const copy = async (sink: Sink, signal: AbortSignal) => {
    const answer = await api.call('POST', `/system/backup?format=${form.value}`, { signal })
    const omits = answer.headers.get('coffer-backup-omits')?.split(', ') ?? []
    const started = Date.now()
    let bytes = 0
    for await (const chunk of chunksOf(answer.body)) {
      signal.throwIfAborted()
      await sink.write(chunk)
      bytes += chunk.length
      run.say(words.backupRunning(bytes, bytes / Math.max(0.2, (Date.now() - started) / 1000)))
    }
    return { bytes, omits }
  }
  const isUnset = run.error.value instanceof ApiError && run.error.value.status === 412
  if (status.value.value === null) return <Waiting of={status} />
  return (
    <Card>
      <Select label={words.backupForm} bind={form} options={Object.entries(words.backupForms)} />
      {willOmit.length > 0 && <div class="notice warn">{words.backupWillOmit(willOmit)}</div>}
      {isUnset ? <div class="notice warn">{words.backupNoPassphrase}</div> : <Problem error={run.error.value} />}
      <Row>
        <Action kind="primary" busy={run.busy.value} onClick={start}>
          {words.backupAction}
        </Action>
        {run.busy.value !== false && <Action onClick={() => stop.current?.abort()}>{words.cancel}</Action>}
      </Row>
      <div role="status">{result.value !== null && <Saved {...result.value} />}</div>
    </Card>
  )
}

const Saved = ({ name, bytes, omits }: Result) =>
  omits.length === 0 ? (
    <div class="notice good">{words.backupDone(name, bytes)}</div>
  ) : (
    <div class="notice warn">{words.backupDidOmit(name, bytes, omits)}</div>
  )

/** Reads the device id as an administrator, since a Backup user may not. Empty if no administrator is signed in. */
async function deviceId(): Promise<string> {
  const administrator = accountFor(ROOT_ADMINISTRATOR)
  if (administrator === null) return ''
  const { deviceId } = await apiOf(administrator).get<T.SystemInfo>('/system/info')
  return `${deviceId}-`
}

interface SavePicker {
  showSaveFilePicker?(options: { suggestedName: string }): Promise<{
    createWritable(): Promise<WritableStream & { write(data: BufferSource): Promise<void> }>
  }>
}

async function openSink(name: string): Promise<Sink> {
  const pick = (window as SavePicker).showSaveFilePicker
  if (pick) {
    const file = await (await pick.call(window, { suggestedName: name })).createWritable()
    return { write: (chunk) => file.write(chunk), finish: () => file.close(), abort: () => file.abort() }
  }
  const parts: BlobPart[] = []
  return {
    write: async (chunk) => void parts.push(chunk),
    finish: async () => saveFile(new Blob(parts), name),
    abort: async () => {
      parts.length = 0
    },
  }
}
