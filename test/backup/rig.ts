/** Backups of the whole application over temporary stores, and what tells two stores apart. */

import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import Sqlite from 'better-sqlite3'
import type { BackupFormat } from '../../firmware/backup/backups.ts'
import type { Reply } from '../support/client.ts'
import { type Call, openRig, operationalRig, type Rig, UNLOCK } from '../support/in-process.ts'
import { copyOpenStore } from '../support/open-store.ts'

export const BACKUP = 'what opens backups'
export const OTHER_DEVICE = new Uint8Array(32).fill(8)

export async function setBackupPassphrase(rig: Rig, passphrase = BACKUP): Promise<void> {
  const { status, text } = await rig.call('PUT', '/config/backup-passphrase', { as: 'admin', json: { passphrase } })
  if (status !== 204) throw new Error(`backup passphrase: ${status} ${text()}`)
}

export async function takeBackup(rig: Rig, format?: BackupFormat): Promise<Uint8Array<ArrayBuffer>> {
  const query = format === undefined ? '' : `?format=${format}`
  const { status, bytes, text } = await rig.call('POST', `/system/backup${query}`, { as: 'backup' })
  if (status !== 200) throw new Error(`backup: ${status} ${text()}`)
  return new Uint8Array(bytes)
}

export const form = (args: unknown, backup: Uint8Array<ArrayBuffer>, name = 'backup_file'): FormData => {
  const form = new FormData()
  form.append('arguments', new Blob([typeof args === 'string' ? args : JSON.stringify(args)]), 'a.json')
  form.append(name, new Blob([backup]), 'b')
  return form
}

export const restore = (rig: Rig, args: unknown, backup: Uint8Array<ArrayBuffer>, call: Call = {}): Promise<Reply> =>
  rig.call('POST', '/system/restore', { as: 'admin', ...call, body: form(args, backup) })

/** A new appliance with another device key, Locked, that has restored the backup. */
export async function restoredElsewhere(t: TestContext, backup: Uint8Array<ArrayBuffer>): Promise<Rig> {
  const rig = await openRig(t, OTHER_DEVICE)
  const { status, text } = await restore(rig, { backupPassphrase: BACKUP }, backup, { as: undefined })
  if (status !== 204) throw new Error(`restore: ${status} ${text()}`)
  return rig
}

export async function unlock(rig: Rig, passphrase = UNLOCK): Promise<void> {
  const { status, text } = await rig.call('POST', '/unlock', { json: { passphrase } })
  if (status !== 204) throw new Error(`unlock: ${status} ${text()}`)
}

export async function furnishedRig(t: TestContext): Promise<Rig> {
  const rig = await operationalRig(t)
  await rig.user('team~chief', 'Administrator')
  await rig.call('PUT', '/namespaces/team', { as: 'admin' })
  await rig.call('PUT', '/users/operator/tags/berlin', { as: 'admin' })
  await rig.key('plain')
  await rig.key('tagged', { restrictions: { tags: ['berlin'] }, label: 'a label' })
  await rig.key('plain', { label: 'of the team' }, 'team~chief')
  await rig.key('lasting', { type: 'ML_DSA_44', mechanisms: ['ML_DSA_Signature'] })
  const body = new Uint8Array([1, 2, 3, 0])
  await rig.call('PUT', '/keys/tagged/cert', {
    as: 'admin',
    body,
    headers: { 'content-type': 'application/octet-stream' },
  })
  for (let n = 0; n < 3; n++) await sign(rig, 'tagged')
  await setBackupPassphrase(rig)
  return rig
}

export async function sign(rig: Rig, id: string, mode = 'EdDSA'): Promise<void> {
  const { status, text } = await rig.call('POST', `/keys/${id}/sign`, {
    as: 'operator',
    json: { mode, message: 'AAAA' },
  })
  if (status !== 200) throw new Error(`sign: ${status} ${text()}`)
}

export function useUsersOf(rig: Rig, ...ids: string[]): void {
  for (const id of ids) rig.use(id, `passphrase of ${id}`)
}

/** Every row of some tables, without `only` of all but those of the audit log, which tells of refusals, too. */
export function digestStore(directory: string, only?: readonly string[]): string {
  const copy = mkdtempSync(join(tmpdir(), 'coffer-digest-')) // the store itself may be open
  copyOpenStore(directory, copy)
  const database = new Sqlite(join(copy, 'store.db'))
  try {
    const hash = createHash('sha256')
    const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all()
    for (const table of tables as string[]) {
      if (only === undefined ? table.startsWith('audit') : !only.includes(table)) continue
      hash.update(`table ${table}\n`)
      const rows = database.prepare(`SELECT rowid, * FROM "${table}" ORDER BY 1`).safeIntegers().raw()
      for (const row of rows.iterate() as Iterable<unknown[]>)
        for (const value of row)
          hash.update(`${value instanceof Uint8Array ? Buffer.from(value).toString('hex') : String(value)} `)
    }
    return hash.digest('hex')
  } finally {
    database.close()
    rmSync(copy, { recursive: true })
  }
}

export const filesOf = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => !/^store\.(db|db-wal|lock)$/.test(name))
    .sort()

export async function inventory(rig: Rig, namespaced?: string): Promise<unknown> {
  const seen: Record<string, unknown> = {}
  const get = async (path: string, as = 'admin') => {
    const { headers, json, text } = await rig.call('GET', path, { as })
    const shown = headers['content-type'] === 'application/json' ? json() : text()
    seen[`${as} ${path}`] = shown
    return shown
  }
  await get('/namespaces')
  for (const { user } of (await get('/users')) as { user: string }[]) {
    await get(`/users/${user}`)
    await get(`/users/${user}/tags`)
  }
  for (const as of ['admin', ...(namespaced === undefined ? [] : [namespaced])]) {
    for (const { id } of (await get('/keys?types=all', as)) as { id: string }[]) {
      await get(`/keys/${id}`, as)
      await get(`/keys/${id}/cert`, as)
      await get(`/keys/${id}/public.pem`, as)
    }
  }
  return seen
}
