/** Signs in, each way ending in a session of this browser, and signs out. */

import { call } from './api.ts'
import { wipeKept } from './kept.ts'
import { createVault } from './vault.ts'
import { language, words } from './words/words.ts'

export interface Invited {
  realm_name: string
  /** Null if anyone with the link may join. */
  email: string | null
}

interface FreshKey {
  api_key: string
  email: string
}

interface Device {
  device: string
  remember: boolean
}

export async function signIn(username: string, password: string, device: Device): Promise<void> {
  await openSession(await call<FreshKey>('POST', '/fetch_api_key', { username, password }), device)
}

export const readInvitation = (key: string, signal: AbortSignal): Promise<Invited> =>
  call('GET', `/join/${encodeURIComponent(key)}`, {}, { signal })

export async function join(
  key: string,
  parameters: { full_name: string; password: string; email?: string },
  device: Device,
): Promise<void> {
  await openSession(await call<FreshKey>('POST', `/join/${encodeURIComponent(key)}`, parameters), device)
  // The account goes on in the language that its invitation was shown in.
  await call('PATCH', '/settings', { default_language: language.value }).catch(() => {})
}

export const readPasswordLink = (key: string, signal: AbortSignal): Promise<{ realm_name: string; email: string }> =>
  call('GET', `/password/${encodeURIComponent(key)}`, {}, { signal })

/** Sets the password, and opens a session with it. */
export async function setPasswordByLink(key: string, password: string, device: Device): Promise<void> {
  const { email } = await call<{ email: string }>('POST', `/password/${encodeURIComponent(key)}`, { password })
  await signIn(email, password, device)
}

/** Exchanges an API key for a session. The call revokes the key. */
async function openSession({ email, api_key: key }: FreshKey, { device, remember }: Device): Promise<void> {
  const values = { device, remember }
  const { user_id: userId } = await call<{ user_id: number }>('POST', '/session', values, { key: { email, key } })
  // Without storage, the page keeps its texts in memory.
  await wipeKept()
  if (remember) await createVault(userId).catch(() => {})
}

export const signOut = (): Promise<unknown> => call('DELETE', '/session')

/** Suggests a name for this device, such as `Firefox on Linux`. */
export function deviceName(userAgent: string): string {
  const first = (names: readonly (readonly [pattern: RegExp, name: string])[], fallback: string): string =>
    names.find(([pattern]) => pattern.test(userAgent))?.[1] ?? fallback
  const browser = first(
    [
      [/Edg\//, 'Edge'],
      [/Firefox\//, 'Firefox'],
      [/Chrome\//, 'Chrome'],
      [/Safari\//, 'Safari'],
    ],
    words.unknownBrowser,
  )
  const system = first(
    [
      [/Android/, 'Android'],
      [/iPhone|iPad/, 'iOS'],
      [/Windows/, 'Windows'],
      [/Mac OS/, 'macOS'],
      [/Linux/, 'Linux'],
    ],
    words.unknownSystem,
  )
  return words.deviceOn(browser, system)
}
