/** The service worker, with which the page starts without the server. Only if the session is remembered. */

import { signal } from '@preact/signals'
import { serviceWorkerAddress } from './worker-address.ts'

/** `refused` if the browser does not trust the server's certificate. */
export type ShellState = 'none' | 'installed' | 'refused'

export const shell = signal<ShellState>('none')
/** True if this browser is notified by its push service. */
export const isPushed = signal(false)

export async function installShell(): Promise<void> {
  try {
    await navigator.serviceWorker.register(serviceWorkerAddress())
    shell.value = 'installed'
  } catch {
    shell.value = 'refused'
  }
}

export async function removeShell(): Promise<void> {
  shell.value = 'none'
  const all = (await navigator.serviceWorker?.getRegistrations()) ?? []
  for (const one of all) for (const notification of await one.getNotifications()) notification.close()
  await Promise.all(all.map((one) => one.unregister())) // ends push subscriptions, too
  for (const name of await caches.keys()) await caches.delete(name)
}
