/** The one vault of this page, if the session is remembered. What it cannot write stays in memory. */

import { openVault, type TextVault } from './vault.ts'

let vault: TextVault | null = null

/** What an earlier page of this account left; nothing when it was read before. */
export async function openKept(userId: number): Promise<[name: string, value: unknown][]> {
  if (vault?.userId === userId) return []
  closeKept()
  try {
    const opened = await openVault()
    if (opened?.userId !== userId) return []
    vault = opened
    return await opened.all()
  } catch {
    return [] // a browser without storage, or a full disk
  }
}

export function closeKept(): void {
  vault?.close()
  vault = null
}

/** Undefined removes. Resolves when it is on the disk, or cannot be. */
export async function keep(name: string, value: unknown): Promise<void> {
  await vault?.put(name, value).catch(() => {})
}
