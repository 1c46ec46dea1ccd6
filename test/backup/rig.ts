/** Backups of the whole application over temporary stores, and what tells two stores apart. */

import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { type Answer, type Call, type Rig, UNLOCK } from '../api/rig.ts'

export const BACKUP = 'backup passphrase'
export const OTHER_DEVICE = new Uint8Array(32).fill(8)

export async function setBackupPassphrase(rig: Rig, passphrase = BACKUP): Promise<void> {
  const { status, text } = await rig.call('PUT /config/backup-passphrase', { json: { passphrase } })
  if (status !== 204) throw new Error(`backup passphrase: ${status} ${text}`)
}

export async function takeBackup(rig: Rig): Promise<Uint8Array<ArrayBuffer>> {
  const { status, bytes, text } = await rig.call('POST /system/backup', { as: 'backup' })
  if (status !== 200) throw new Error(`backup: ${status} ${text}`)
  return bytes
}

export const form = (args: unknown, backup: Uint8Array<ArrayBuffer>, name = 'backup_file'): FormData => {
  const form = new FormData()
  form.append('arguments', new Blob([typeof args === 'string' ? args : JSON.stringify(args)]), 'a.json')
  form.append(name, new Blob([backup]), 'b')
  return form
}

export const restore = (rig: Rig, args: unknown, backup: Uint8Array<ArrayBuffer>, call: Call = {}): Promise<Answer> =>
  rig.call('POST /system/restore', { ...call, body: form(args, backup) })

export async function unlock(rig: Rig, passphrase = UNLOCK): Promise<void> {
  const { status, text } = await rig.call('POST /unlock', { as: null, json: { passphrase } })
  if (status !== 204) throw new Error(`unlock: ${status} ${text}`)
}

/** Every row of every table, as one digest; and the files there are. Closed stores only, or through `readOpen`. */
export function digestStore(directory: string): string {
  const database = new Sqlite(join(directory, 'store.db'), { readonly: true })
  try {
    return digestRows(database)
  } finally {
    database.close()
  }
}

export function digestRows(database: Sqlite.Database): string {
  const hash = createHash('sha256')
  const tables = database
    .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")
    .pluck()
    .all()
  for (const table of tables as string[]) {
    hash.update(`table ${table}\n`)
    for (const row of database
      .prepare(`SELECT rowid, * FROM main."${table}" ORDER BY 1`)
      .safeIntegers()
      .raw()
      .iterate()) {
      for (const value of row as unknown[])
        hash.update(`${value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value} `)
    }
  }
  return hash.digest('hex')
}

export const filesOf = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => !/^store\.(db|db-wal|lock)$/.test(name))
    .sort()

/** Everything a client can see of users, namespaces and keys. */
export async function inventory(rig: Rig, namespaced?: string): Promise<unknown> {
  const seen: Record<string, unknown> = {}
  const get = async (path: string, as = 'admin') => {
    const { json, text } = await rig.call(`GET ${path}`, { as })
    seen[`${as} ${path}`] = json ?? text
    return json
  }
  await get('/namespaces')
  for (const { user } of (await get('/users')) as { user: string }[]) {
    await get(`/users/${user}`)
    await get(`/users/${user}/tags`)
  }
  for (const as of ['admin', ...(namespaced === undefined ? [] : [namespaced])]) {
    for (const { id } of (await get('/keys', as)) as { id: string }[]) {
      await get(`/keys/${id}`, as)
      await get(`/keys/${id}/cert`, as)
      await get(`/keys/${id}/public.pem`, as)
    }
  }
  return seen
}
