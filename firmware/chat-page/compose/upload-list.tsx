import { Action } from '../../web/controls.tsx'
import { CallRefused } from '../api.ts'
import { Icon } from '../views/icons.tsx'
import { fileSize } from '../words/format.ts'
import { words } from '../words/words.ts'
import type { FileUpload, UploadQueue } from './uploads.ts'

export function UploadList({ uploads }: { uploads: UploadQueue }) {
  if (uploads.all.value.length === 0) return null
  return (
    <ul class="uploads" aria-label={words.files}>
      {uploads.all.value.map((upload) => (
        <li key={upload.key}>
          <span class="name">{upload.name}</span>
          <State upload={upload} />
          {upload.state === 'sent' && upload.original !== null && (
            <Action kind="link" onClick={() => uploads.useOriginal(upload.key)}>
              {words.useOriginal(fileSize(upload.original.size))}
            </Action>
          )}
          <Action kind="icon" label={words.removeFile(upload.name)} onClick={() => uploads.remove(upload.key)}>
            <Icon name="close" />
          </Action>
        </li>
      ))}
    </ul>
  )
}

function State({ upload: { state, name, bytes, sentBytes, error } }: { upload: FileUpload }) {
  if (state === 'failed')
    return (
      <span class="error" role="alert">
        {error instanceof CallRefused ? error.message : words.problemOffline}
      </span>
    )
  if (state === 'sent') return <span class="soft">{fileSize(bytes)}</span>
  return <progress aria-label={words.uploading(name)} max={Math.max(bytes, 1)} value={Math.min(sentBytes, bytes)} />
}
