/** Making a backup: it goes to the disk as it comes, where the browser can, else into a Blob. Contract section 8. */

import { useSignal } from '@preact/signals'
import { useRef } from 'preact/hooks'
import { ApiError } from '../../client/request.ts'
import type * as T from '../../client/types.ts'
import { Action, Select } from '../../web/controls.tsx'
import { useRun } from '../../web/run.ts'
import { fileTime } from '../format.ts'
import { suspendIdle } from '../idle.ts'
import { saveFile } from '../parts/controls.tsx'
import { Card, Row, type ViewProps } from '../parts/frame.tsx'
import { Problem } from '../parts/loading.tsx'
import { accountFor, apiOf, applianceNow, ROOT_ADMINISTRATOR } from '../state.ts'
import * as words from '../words.ts'
import { chunksOf } from './audit.tsx'

/** What a file is written to: the File System API's stream, or memory. */
interface Sink {
  write(chunk: Uint8Array<ArrayBuffer>): Promise<void>
  finish(): Promise<void>
  abort(): Promise<void>
}

export function BackupPage({ api }: ViewProps) {
  const form = useSignal('nethsm')
  const result = useSignal('')
  const stop = useRef<AbortController | null>(null)
  const run = useRun()
  const start = () => {
    result.value = ''
    const controller = new AbortController()
    stop.current = controller
    const { signal } = controller
    return run.start(words.backupRunning(0, 0), async () => {
      const name = `coffer-${await deviceId()}${fileTime(applianceNow())}.backup`
      // First, while the click still counts as the user's.
      const sink = await openSink(name)
      try {
        const bytes = await suspendIdle(() => copy(sink, signal))
        await sink.finish()
        result.value = words.backupDone(name, bytes)
      } catch (error) {
        await sink.abort()
        throw signal.aborted ? new Error(words.backupCancelled) : error
      }
    })
  }
  const copy = async (sink: Sink, signal: AbortSignal): Promise<number> => {
    const answer = await api.call('POST', `/system/backup?format=${form.value}`, { signal })
    const started = Date.now()
    let bytes = 0
    for await (const chunk of chunksOf(answer.body!)) {
      signal.throwIfAborted()
      await sink.write(chunk)
      bytes += chunk.length
      run.say(words.backupRunning(bytes, bytes / Math.max(0.2, (Date.now() - started) / 1000)))
    }
    return bytes
  }
  const isUnset = run.error.value instanceof ApiError && run.error.value.status === 412
  return (
    <Card>
      <Select label={words.backupForm} bind={form} options={Object.entries(words.backupForms)} />
      {isUnset ? <div class="notice warn">{words.backupNoPassphrase}</div> : <Problem error={run.error.value} />}
      <Row>
        <Action kind="primary" busy={run.busy.value} onClick={start}>
          {words.backupAction}
        </Action>
        {run.busy.value !== false && <Action onClick={() => stop.current?.abort()}>{words.cancel}</Action>}
      </Row>
      <div role="status">{result.value && <div class="notice good">{result.value}</div>}</div>
    </Card>
  )
}

/** An administrator may be signed in as well; a Backup user may not ask. */
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
