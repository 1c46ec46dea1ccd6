/** Global state of the page: the appliance's state, its clock, and the accounts signed in. */

import { computed, signal } from '@preact/signals'
import { ApiError } from '../client/request.ts'
import type * as T from '../client/types.ts'
import { type Api, openApi, withHelpers } from './api.ts'
import { beginSession, endSession, isHeld } from './idle.ts'
import { send } from './transport.ts'

/** States of contract section 2, and those that only the browser sees. */
export type State = 'Unprovisioned' | 'Locked' | 'Operational' | 'Failed' | 'Trial' | 'Unreachable' | 'Starting'

export const ROLES = ['Administrator', 'Operator', 'Metrics', 'Backup'] as const
export type Role = (typeof ROLES)[number]

export const state = signal<State>('Starting')
/** Time of the last state change, by this computer's clock. */
export const stateSince = signal(Date.now())
/** Offset of the appliance's clock from this computer's. */
export const aheadMs = signal(0)

const POLL_MS = 2000
const POLL_MS_HIDDEN = 10_000
const ANSWER_MS_MAX = 8000
const MISSES_MAX = 2 // one lost answer must not clear the page
const CLOCK_STEP_MS = 2000 // the header `date` has whole seconds, so smaller differences mean nothing

/** Polls the state for as long as the page is open, and at once when the tab becomes visible. */
export function watchState(): void {
  let misses = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = async () => {
    clearTimeout(timer)
    try {
      await askState()
      misses = 0
    } catch {
      if (++misses >= MISSES_MAX) become('Unreachable')
    }
    clearTimeout(timer)
    timer = setTimeout(look, document.hidden ? POLL_MS_HIDDEN : POLL_MS)
  }
  lookAgain = look
  addEventListener('visibilitychange', () => {
    if (!document.hidden) void look()
  })
  void look()
}

let lookAgain: () => Promise<void> = async () => {}
/** Polls at once, for use after an act that changes the state. */
export const refreshState = (): Promise<void> => lookAgain()

async function askState(): Promise<void> {
  const sent = Date.now()
  const answer = await send({
    method: 'GET',
    path: '/health/state',
    headers: {},
    signal: AbortSignal.timeout(ANSWER_MS_MAX),
  })
  const date = Date.parse(answer.headers.get('date') ?? '')
  if (!Number.isNaN(date)) {
    const ahead = date + 500 - (sent + Date.now()) / 2
    aheadMs.value =
      Math.abs(ahead) < CLOCK_STEP_MS ? 0 : Math.abs(ahead - aheadMs.value) < CLOCK_STEP_MS ? aheadMs.value : ahead
  }
  if (answer.status === 503) return become('Trial')
  const { state: found } = (await answer.json()) as { state: State }
  become(found)
}

function become(next: State): void {
  if (state.value === next) return
  if (isHeld()) return
  if (next === 'Unprovisioned' || next === 'Failed') signOutAll('')
  state.value = next
  stateSince.value = Date.now()
}

export const applianceNow = (): Date => new Date(Date.now() + aheadMs.value)

export interface Account {
  readonly id: number
  readonly user: string
  readonly realName: string
  readonly role: Role
  readonly namespace: string | null
}

export const ACCOUNTS_MAX = 4
export const accounts = signal<readonly Account[]>([])
/** Reason for the sign-out: a key of `words.signInReasons`, or empty. */
export const signedOutBecause = signal<'' | 'idle' | 'long' | 'left'>('')
/** User whose passphrase must be typed again after a 401. */
export const askAgain = signal('')

/** Kept apart from the signals, so that no rendered data can reach a passphrase. */
const apis = new Map<number, Api>()
let lastId = 0

export const anonymous: Api = openApi(null)

/** Throws `ApiError` with 401 if the user or passphrase is wrong. Replaces an account of the same user. */
export async function signIn(user: string, passphrase: string): Promise<Account> {
  const api = openApi({ user, passphrase })
  const me = await api.get<T.Account>('/account')
  const account: Account = {
    id: ++lastId,
    user: me.user,
    realName: me.realName,
    role: me.role,
    namespace: me.namespace ?? null,
  }
  for (const other of accounts.value) if (other.user === account.user) apis.delete(other.id)
  apis.set(account.id, api)
  accounts.value = [...accounts.value.filter((other) => other.user !== account.user), account]
  signedOutBecause.value = ''
  askAgain.value = ''
  beginSession()
  return account
}

export function signOut(id: number): void {
  apis.delete(id)
  accounts.value = accounts.value.filter((account) => account.id !== id)
  if (accounts.value.length === 0) endSession()
}

export function signOutAll(reason: '' | 'idle' | 'long' | 'left'): void {
  if (accounts.value.length > 0) signedOutBecause.value = reason
  apis.clear()
  accounts.value = []
  endSession()
}

export interface Need {
  /** Roles with the right; the first is preferred. */
  readonly roles: readonly [Role, ...Role[]]
  readonly root?: boolean
}

export const ROOT_ADMINISTRATOR: Need = { roles: ['Administrator'], root: true }

/** Account that a view uses: the last one signed in with the preferred role, else with another role that has the right. */
export function accountFor({ roles, root = false }: Need): Account | null {
  const may = accounts.value.filter(({ role, namespace }) => roles.includes(role) && !(root && namespace !== null))
  return may.findLast(({ role }) => role === roles[0]) ?? may.at(-1) ?? null
}

/** Calls as the account. A 401 signs it out, and the view asks for the passphrase again. */
export function apiOf(account: Account): Api {
  const api = apis.get(account.id)
  if (api === undefined) return anonymous
  return withHelpers(async (method, path, options) => {
    try {
      return await api.call(method, path, options)
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) {
        askAgain.value = account.user
        signOut(account.id)
      }
      throw error
    }
  })
}

export const isRootAdministrator = computed(() => accountFor(ROOT_ADMINISTRATOR) !== null)
