/** Uploads files, two at a time, with progress and a way to cancel. `chat/CONTRACT.md`, section 3.9. */

import { type ReadonlySignal, signal } from '@preact/signals'
import { BASE, failureOf } from '../api.ts'
import { loadMore } from '../views/area.tsx'

const AT_ONCE = 2 // the server accepts eight per account, and other tabs upload, too

export interface FileUpload {
  readonly key: number
  readonly name: string
  readonly state: 'waiting' | 'sending' | 'sent' | 'failed'
  /** Size of the file that is sent; a picture may have been shrunk. */
  readonly bytes: number
  readonly sentBytes: number
  readonly error: unknown
  /** The original picture, if the server has a smaller one. */
  readonly original: File | null
}

export interface UploadQueue {
  readonly all: ReadonlySignal<readonly FileUpload[]>
  readonly isBusy: () => boolean
  add(files: Iterable<File>): void
  useOriginal(key: number): void
  /** Cancels the upload, or removes it from the list. */
  remove(key: number): void
  clear(): void
}

/** `insert` receives the Markdown of an uploaded file; `before` is the Markdown that it replaces. */
export function createUploads(insert: (markdown: string, before: string | null) => void): UploadQueue {
  const all = signal<readonly FileUpload[]>([])
  const cancels = new Map<number, () => void>()
  const inserted = new Map<number, string>()
  const files = new Map<number, File>()
  let last = 0

  const change = (key: number, members: Partial<FileUpload>) => {
    all.value = all.value.map((one) => (one.key === key ? { ...one, ...members } : one))
  }
  const next = () => {
    const sending = all.value.filter(({ state }) => state === 'sending').length
    const waiting = all.value.filter(({ state }) => state === 'waiting')
    for (const { key } of waiting.slice(0, AT_ONCE - sending)) void run(key)
  }
  const run = async (key: number) => {
    const file = files.get(key)
    if (file === undefined) return
    change(key, { state: 'sending', sentBytes: 0 })
    try {
      const isWhole = inserted.has(key)
      const smaller = isWhole ? null : await (await loadMore()).shrink(file)
      if (!all.value.some((one) => one.key === key)) return
      const chosen = smaller ?? file
      change(key, { bytes: chosen.size, name: chosen.name, original: smaller === null ? null : file })
      const url = await post(chosen, {
        progress: (sentBytes) => change(key, { sentBytes }),
        onCancel: (cancel) => cancels.set(key, cancel),
      })
      const markdown = `[${chosen.name.replace(/[[\]\n]/g, '_')}](${url})`
      insert(markdown, inserted.get(key) ?? null)
      inserted.set(key, markdown)
      change(key, { state: 'sent' })
    } catch (error) {
      change(key, { state: 'failed', error })
    } finally {
      cancels.delete(key)
      next()
    }
  }
  return {
    all,
    isBusy: () => all.value.some(({ state }) => state === 'waiting' || state === 'sending'),
    add(chosen) {
      for (const file of chosen) {
        const key = ++last
        files.set(key, file)
        const upload: FileUpload = {
          ...{ key, name: file.name, state: 'waiting', bytes: file.size, sentBytes: 0, error: null, original: null },
        }
        all.value = [...all.value, upload]
      }
      next()
    },
    useOriginal(key) {
      change(key, { state: 'waiting', original: null })
      next()
    },
    remove(key) {
      all.value = all.value.filter((one) => one.key !== key)
      files.delete(key)
      cancels.get(key)?.()
    },
    clear() {
      for (const { key, state } of all.value) if (state === 'sent') files.delete(key)
      all.value = all.value.filter(({ state }) => state !== 'sent')
    },
  }
}

interface PostOptions {
  progress: (sentBytes: number) => void
  onCancel: (cancel: () => void) => void
}

/** Returns the address of the file. Uses XMLHttpRequest, since `fetch` reports no upload progress. */
const post = (file: File, { progress, onCancel }: PostOptions): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', `${BASE}/user_uploads`)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded }) => progress(loaded)
    request.onload = () => {
      if (request.status === 200) resolve(request.response?.url)
      else reject(failureOf(request, request.response))
    }
    request.onerror = () => reject(new TypeError('no answer'))
    request.onabort = () => reject(new DOMException('canceled', 'AbortError'))
    onCancel(() => request.abort())
    const form = new FormData()
    form.append('file', file, file.name)
    request.send(form)
  })
