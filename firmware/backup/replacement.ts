/** The records of an appliance are replaced by those of a backup, all or nothing. Contract sections 2 and 8. */

import { CofferError, wrongState } from '../base/error.ts'
import { assertAuthorized, runDetached } from '../base/request-authorization.ts'
import { wipe } from '../base/secret.ts'
import type { Vault } from '../store/vault.ts'
import { readBackupKey } from './backup-key.ts'
import type { ChatBackups } from './chat.ts'
import type { Source } from './reader.ts'
import { verifyBackup } from './restore.ts'
import { putReport } from './restore-report.ts'
import type { BackupServices, Shared } from './services.ts'

export interface Restoration {
  /** Null where that of the backup shall be the current one. */
  passphrase: Uint8Array | null
  /** When the request came in, by `performance.now()`: the appliance's clock may be set meanwhile. */
  requestedAtMs: number
  /** The time at the backup; null leaves the clock alone. */
  systemTimeMs: number | null
}

/** Other writes get `busy` meanwhile. Throws `invalid` when it cannot be opened, or is not whole. */
export async function replaceRecords(
  services: BackupServices,
  chat: ChatBackups | null,
  source: () => Source,
  restoration: Restoration,
): Promise<void> {
  const { passphrase, requestedAtMs, systemTimeMs } = restoration
  const { clock, pool, cost, log } = services
  const { store, device, session } = services.openStore()
  if (session !== null && session.node !== null) {
    await replaceOnAll(services, session.vault, session.node, source, restoration)
    store.transaction(() => putReport(device, []))
    return
  }
  const current = session === null ? null : readBackupKey(session.vault)
  const claim = store.lockStore()
  try {
    const backup = await verifyBackup(source, {
      passphrase,
      current,
      pool,
      cost,
      warn: (message) => log.warning('general', message),
    })
    let isReplaced = false
    try {
      const received = backup.chatPieces === null ? null : await chat?.receive(backup.chatPieces())
      if (services.openStore().session !== session) throw wrongState() // locked meanwhile
      const stays = session !== null && backup.fits(device)
      claim.transaction((rows) => {
        backup.replace(rows, device, session === null ? 'full' : 'partial')
        chat?.replace(device, received ?? null, stays)
        if (systemTimeMs === null) return
        device.putTimeOffsetMs(clock.offsetMs + timeNow(systemTimeMs, requestedAtMs) - clock.now())
      })
      isReplaced = true
      if (systemTimeMs !== null) clock.set(timeNow(systemTimeMs, requestedAtMs))
      claim.release()
      await runDetached(() => services.restart(stays ? session.vault.domainKey.slice() : null))
      store.checkpoint() // nothing of what was replaced stays behind
    } finally {
      chat?.settled(isReplaced)
      backup.close()
    }
  } finally {
    claim.release()
    if (current !== null) wipe(current.key)
  }
}

const timeNow = (systemTimeMs: number, requestedAtMs: number): number =>
  systemTimeMs + performance.now() - requestedAtMs

/** The records of every node; settings and slots of the domain key stay what they are on each. */
async function replaceOnAll(
  { pool, cost, log, setTime }: BackupServices,
  vault: Vault,
  { replica }: Shared,
  source: () => Source,
  { passphrase, requestedAtMs, systemTimeMs }: Restoration,
): Promise<void> {
  const warn = (message: string) => log.warning('general', message)
  const current = readBackupKey(vault)
  try {
    const backup = await verifyBackup(source, { passphrase, current, pool, cost, warn })
    try {
      if (backup.rows === null)
        throw new CofferError('unavailable', 'Cannot restore in a cluster: the backup must be made with format=coffer')
      if (backup.chatPieces !== null) warn('chat in the backup was skipped: clusters do not replicate the chat')
      assertAuthorized()
      await replica.replaceAll(backup.rows())
    } finally {
      backup.close()
    }
    if (systemTimeMs !== null) setTime(timeNow(systemTimeMs, requestedAtMs))
  } finally {
    if (current !== null) wipe(current.key)
  }
}
