/** Metadata of uploaded files, and the messages that show them. The bytes are in files.ts. */

import type { Database } from 'better-sqlite3'
import { defined } from '../../base/defined.ts'
import { PLACED_COLUMNS, type PlacedRow } from './messages.ts'

export interface UploadRow {
  id: number
  /** Relative to `/user_uploads/`: see realm/model/upload-path.ts. */
  path: string
  owner: number
  name: string
  sizeBytes: number
  /** Seconds. */
  time: number
  /** Pixels; null unless the file is a picture. */
  width: number | null
  height: number | null
}

interface UploadSum {
  files: number
  bytes: number
}

interface UploadReference {
  message: number
  time: number
}

export interface Uploads {
  get(id: number): UploadRow | undefined
  byPath(path: string): UploadRow | undefined
  all(): UploadRow[]
  /** Newest first. */
  ofOwner(owner: number): UploadRow[]
  add(row: UploadRow): void
  /** Also removes its claims. */
  remove(id: number): void
  total(): UploadSum
  sumOf(owner: number): UploadSum
  /** The newest claims, oldest first. */
  claimsOf(upload: number, count: number): UploadReference[]
  isClaimed(upload: number): boolean
  /** Recipients of the messages that show it, without duplicates. */
  claimedIn(upload: number): number[]
  claimsIn(upload: number, recipient: number): PlacedRow[]
  ofMessage(message: number): UploadRow[]
  claim(upload: number, message: number): void
  release(upload: number, message: number): void
}

const COLUMNS = 'uploads.id, path, owner, name, size AS sizeBytes, time, width, height'

export function prepareUploads(database: Database): Uploads {
  const get = database.prepare<[number], UploadRow>(`SELECT ${COLUMNS} FROM uploads WHERE id = ?`)
  const byPath = database.prepare<[string], UploadRow>(`SELECT ${COLUMNS} FROM uploads WHERE path = ?`)
  const all = database.prepare<[], UploadRow>(`SELECT ${COLUMNS} FROM uploads ORDER BY id`)
  const ofOwner = database.prepare<[number], UploadRow>(
    `SELECT ${COLUMNS} FROM uploads WHERE owner = ? ORDER BY id DESC`,
  )
  const add = database.prepare<[UploadRow]>(
    `INSERT INTO uploads (id, path, owner, name, size, time, width, height)
     VALUES (@id, @path, @owner, @name, @sizeBytes, @time, @width, @height)`,
  )
  const remove = database.prepare('DELETE FROM uploads WHERE id = ?')
  const removeClaims = database.prepare('DELETE FROM claims WHERE upload = ?')
  const count = database.prepare<[{ owner: number; files: number; bytes: number }]>(
    `INSERT INTO upload_sums VALUES (@owner, @files, @bytes)
     ON CONFLICT (owner) DO UPDATE SET files = files + @files, bytes = bytes + @bytes`,
  )
  const forget = database.prepare('DELETE FROM upload_sums WHERE owner = ? AND files = 0')
  const total = database.prepare<[], UploadSum>(
    'SELECT coalesce(sum(files), 0) AS files, coalesce(sum(bytes), 0) AS bytes FROM upload_sums',
  )
  const sumOf = database.prepare<[number], UploadSum>('SELECT files, bytes FROM upload_sums WHERE owner = ?')
  const claimsOf = database.prepare<[number, number], UploadReference>(
    `SELECT message, time FROM claims CROSS JOIN messages ON messages.id = message
     WHERE upload = ? ORDER BY message DESC LIMIT ?`,
  )
  const isClaimed = database.prepare<[number], number>('SELECT 1 FROM claims WHERE upload = ? LIMIT 1').pluck()
  const claimedIn = database
    .prepare<[number], number>(
      'SELECT DISTINCT recipient FROM claims CROSS JOIN messages ON messages.id = message WHERE upload = ?',
    )
    .pluck()
  const claimsIn = database.prepare<[number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM claims CROSS JOIN messages ON messages.id = message WHERE upload = ? AND recipient = ?`,
  )
  const ofMessage = database.prepare<[number], UploadRow>(
    `SELECT ${COLUMNS} FROM claims CROSS JOIN uploads ON uploads.id = upload WHERE message = ? ORDER BY uploads.id`,
  )
  const claim = database.prepare('INSERT OR IGNORE INTO claims VALUES (?, ?)')
  const release = database.prepare('DELETE FROM claims WHERE upload = ? AND message = ?')
  return {
    get: (id) => get.get(id),
    byPath: (path) => byPath.get(path),
    all: () => all.all(),
    ofOwner: (owner) => ofOwner.all(owner),
    add(row) {
      add.run(row)
      count.run({ owner: row.owner, files: 1, bytes: row.sizeBytes })
    },
    remove(id) {
      const row = get.get(id)
      if (row === undefined) return
      removeClaims.run(id)
      remove.run(id)
      count.run({ owner: row.owner, files: -1, bytes: -row.sizeBytes })
      forget.run(row.owner)
    },
    total: () => defined(total.get()),
    sumOf: (owner) => sumOf.get(owner) ?? { files: 0, bytes: 0 },
    claimsOf: (upload, count) => claimsOf.all(upload, count).reverse(),
    isClaimed: (upload) => isClaimed.get(upload) !== undefined,
    claimedIn: (upload) => claimedIn.all(upload),
    claimsIn: (upload, recipient) => claimsIn.all(upload, recipient),
    ofMessage: (message) => ofMessage.all(message),
    claim: (upload, message) => void claim.run(upload, message),
    release: (upload, message) => void release.run(upload, message),
  }
}
