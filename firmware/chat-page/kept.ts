/** The vault of this page, if the session is remembered. Values that cannot be written stay in memory. */

import { removeShell } from './shell.ts'
import { destroyVault, destroyVaultOf, openVault, type PageVault } from './vault.ts'

const RENEW_MS = 3_600_000

let vault: PageVault | null = null
let renewedMs = 0
let renewedDays = 0
let isRead = false

/** Returns the texts that an earlier page of this account stored; empty on later calls. */
export async function openKept(userId: number): Promise<[name: string, value: unknown][]> {
  if (vault?.userId === userId && !vault.isClosed && isRead) return []
  try {
    if ((await keptUser()) !== userId || vault === null) return []
    isRead = true
    return await vault.texts.all()
  } catch {
    return [] // no storage, or a full disk
  }
}

/** The account whose texts this browser stores; null if it stores none. */
export async function keptUser(): Promise<number | null> {
  if (vault !== null && !vault.isClosed) return vault.userId
  closeKept()
  vault = await openVault().catch(() => null)
  if (vault !== null) return vault.userId
  await removeShell().catch(() => {}) // it ends with the vault
  return null
}

export function closeKept(): void {
  vault?.close()
  vault = null
  isRead = false
  renewedMs = 0
}

/** Id of the vault that this page has opened last, which another tab may have deleted; null if it has opened none. */
export const keptId = (): string | null => vault?.id ?? null

export const isKept = (): boolean => vault !== null && !vault.isClosed

/** True if the server has not answered for as long as the organization permits devices to keep something. */
export async function isKeptOver(): Promise<boolean> {
  return isKept() && (await vault?.isOver().catch(() => false)) === true // closed meanwhile
}

/** Called after answers of the server. */
export async function renewKept(days: number): Promise<void> {
  if (days === renewedDays && Date.now() - renewedMs < RENEW_MS) return
  renewedMs = Date.now()
  renewedDays = days
  await vault?.renew({ days, answeredMs: renewedMs }).catch(() => {})
}

/** Before a sign-in: deletes all that this browser has stored. Best effort: at the end of a session the server tells the browser to delete it, too. */
export async function wipeKept(): Promise<void> {
  closeKept()
  await Promise.allSettled([destroyVault(), removeShell()])
}

/** Deletes what the session of this page has stored. The session of a later sign-in, in another tab, keeps its own. */
export async function wipeOwnKept(): Promise<void> {
  const id = keptId()
  closeKept()
  if (await destroyVaultOf(id).catch(() => false)) await removeShell().catch(() => {})
}

/** Undefined removes the value. Resolves when it is on disk, or cannot be written. */
export async function keep(name: string, value: unknown): Promise<void> {
  await vault?.texts.put(name, value).catch(() => {})
}

export async function writeCache(name: string, value: unknown): Promise<void> {
  await vault?.cache.put(name, value).catch(() => {})
}

export const readCache = async (name: string): Promise<unknown> => vault?.cache.get(name).catch(() => undefined)

export async function clearCache(): Promise<void> {
  await vault?.cache.clear().catch(() => {})
}
