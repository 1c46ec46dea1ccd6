/** The vault of this page, if the session is remembered. Values that cannot be written stay in memory. */

import { openVault, type TextVault } from './vault.ts'

let vault: TextVault | null = null

/** Returns the values that an earlier page of this account stored; empty on later calls. */
export async function openKept(userId: number): Promise<[name: string, value: unknown][]> {
  if (vault?.userId === userId) return []
  closeKept()
  try {
    const opened = await openVault()
    if (opened?.userId !== userId) return []
    vault = opened
    return await opened.all()
  } catch {
    return [] // no storage, or a full disk
  }
}

export function closeKept(): void {
  vault?.close()
  vault = null
}

/** Undefined removes the value. Resolves when it is on disk, or cannot be written. */
export async function keep(name: string, value: unknown): Promise<void> {
  await vault?.put(name, value).catch(() => {})
}
