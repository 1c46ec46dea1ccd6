/** Profiles: how an appliance is reached and recognized, and who uses it. One file each, mode 0600, without a passphrase. */

import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Role } from '../../firmware/client/types.ts'
import { usage } from './failure.ts'

export interface KnownPort {
  /** `https://host:port`. */
  url: string
  /** `sha256//` and the base64 of SHA-256 of the public key of its certificate, where no authority signs for it. */
  pin?: string
  ca?: string
}

export interface Profile extends KnownPort {
  users: Partial<Record<Role, string>>
  /** The appliance's chat, with the address of the account that signs in there. */
  chat?: KnownChat
}

interface KnownChat extends KnownPort {
  user?: string
}

export const DEFAULT_PROFILE = 'default'

const profileDirectory = (): string => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'coffer')

export function readProfile(name: string): Profile | null {
  let text: string
  try {
    text = readFileSync(fileOf(name), 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  const profile = parse(text)
  if (profile === null) throw usage(`profile ${name} is damaged: ${fileOf(name)}`, 'coffer connect URL makes it anew')
  return profile
}

export function writeProfile(name: string, profile: Profile): void {
  mkdirSync(profileDirectory(), { recursive: true, mode: 0o700 })
  const file = fileOf(name)
  const draft = `${file}.${process.pid}`
  writeFileSync(draft, `${JSON.stringify(profile, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  renameSync(draft, file)
}

export const removeProfile = (name: string): void => rmSync(fileOf(name))

export function listProfiles(): string[] {
  try {
    return readdirSync(profileDirectory())
      .filter((file) => file.endsWith('.json'))
      .map((file) => file.slice(0, -'.json'.length))
      .sort()
  } catch {
    return []
  }
}

function fileOf(name: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(name)) throw usage(`not the name of a profile: ${name}`)
  return join(profileDirectory(), `${name}.json`)
}

function parse(text: string): Profile | null {
  try {
    const { users, chat, ...appliance } = JSON.parse(text) as Profile
    return { ...endpointOf(appliance), users: { ...users }, ...(chat && { chat: chatOf(chat) }) }
  } catch {
    return null
  }
}

const chatOf = ({ user, ...chat }: KnownChat): KnownChat => ({
  ...endpointOf(chat),
  ...(typeof user === 'string' && { user }),
})

/** Throws if it is damaged. */
function endpointOf({ url, pin, ca }: KnownPort): KnownPort {
  if (new URL(url).protocol !== 'https:' || ![pin, ca].every(isOptional)) throw new Error('damaged')
  return { url, ...(pin && { pin }), ...(ca && { ca }) }
}

const isOptional = (value: unknown): boolean => value === undefined || typeof value === 'string'
