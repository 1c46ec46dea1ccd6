/** Messages on the terminal about the firmware, and the passphrase prompt while it is Locked. */

import { PRODUCT } from '../firmware/channel/product.ts'
import type { Network, ToBoot } from '../firmware/channel/protocol.ts'
import type { Platform } from './platform.ts'
import type { Terminal } from './terminal/terminal.ts'

type Message<T extends ToBoot['type']> = Extract<ToBoot, { type: T }>

export interface Conversation {
  begin(): void
  /** Passphrase typed at the prompt; null if it was too long. */
  passphrase(typed: Uint8Array | null): void
  listening(message: Message<'listening'>): void
  network(network: Network): void
  state(message: Message<'state'>): void
  unlockResult(message: Message<'unlockResult'>): void
}

interface ConversationOptions {
  terminal: Terminal
  version: () => string
  shownAddress: Platform['shownAddress']
  /** Sends a passphrase to the firmware and wipes it. */
  unlock: (passphrase: Uint8Array) => void
}

export function createConversation({ terminal, version, shownAddress, unlock }: ConversationOptions): Conversation {
  let listening: Message<'listening'> | null = null
  let network: Network | null = null
  /** True after the first `Locked` of a firmware: a later `Operational` is then not an unattended start. */
  let wasLocked = false

  function askAgain(notice: string): void {
    terminal.print(notice)
    terminal.ask()
  }

  function url(): string {
    if (listening === null) return ''
    const address = shownAddress(listening.address, network)
    return `https://${address.includes(':') ? `[${address}]` : address}:${listening.port}`
  }

  /** Describes in one line a state without a prompt. */
  function describe({ state, reason }: Message<'state'>): string {
    const start = state === 'Operational' && !wasLocked ? 'started unattended, ' : ''
    const why = state === 'Failed' || reason !== undefined ? `: ${reason ?? 'no reason given'}` : ''
    const next = state === 'Locked' && reason === undefined ? ', waiting for the passphrase at /api/v1/unlock' : ''
    return `${PRODUCT.product} ${version()} at ${url()}: ${start}${state}${why}${next}`
  }

  return {
    begin() {
      wasLocked = false
      terminal.silence()
    },
    passphrase(typed) {
      if (typed === null) askAgain('Passphrase too long: it may have at most 200 bytes.')
      else if (typed.length === 0) terminal.ask()
      else {
        terminal.print('Checking... Keys typed meanwhile are dropped.') // the key derivation takes seconds on a small machine
        unlock(typed)
      }
    },
    listening(message) {
      listening = message
    },
    network(next) {
      network = next
    },
    state(message) {
      const { state, reason } = message
      const asks = state === 'Locked' && reason === undefined && terminal.canAsk()
      terminal.release()
      terminal.print(asks ? `${PRODUCT.product}\nVersion ${version()}\n${url()}` : describe(message))
      if (asks) terminal.ask()
      wasLocked ||= state === 'Locked' || state === 'Unprovisioned'
    },
    unlockResult({ result, message }) {
      if (result === 'wrong') askAgain('Wrong passphrase.')
      else if (result === 'tooManyAttempts') askAgain('Too many attempts: wait a second before the next one.')
      else if (result === 'failed') askAgain(`The unlock failed: ${message ?? 'no reason given'}.`)
      // otherwise a state message removes the prompt
    },
  }
}
