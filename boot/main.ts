/** The story of a start: settings, platform, firmware, and the conversation between its states and the console. */

import { fileURLToPath } from 'node:url'
import { openConsole } from './console.ts'
import { preventCoreFiles } from './core-files.ts'
import { openHost } from './host.ts'
import { LockError } from './lock.ts'
import type { Action, Platform } from './platform.ts'
import { PRODUCT } from './product.ts'
import type { ToBoot } from './protocol.ts'
import { readSettings, SettingsError } from './settings.ts'
import { createSupervisor } from './supervisor.ts'

try {
  const platform = openHost(readSettings(process.env))
  preventCoreFiles()
  run(platform)
} catch (error) {
  if (!(error instanceof SettingsError || error instanceof LockError)) throw error
  console.error(`Coffer does not start: ${error.message}.`)
  process.exitCode = 1
}

function run(platform: Platform): void {
  let address = ''
  /** True from the first `Locked` of a firmware on: what follows was then no unattended start. */
  let wasLocked = false
  let ending = false

  const terminal = openConsole({
    input: process.stdin,
    output: process.stdout,
    onPassphrase: (passphrase) => {
      if (passphrase === null) askAgain('That is too long: a passphrase has at most 200 bytes.')
      else if (passphrase.length === 0) terminal.ask()
      else supervisor.unlock(passphrase)
    },
    onInterrupt: () => end(0),
  })

  const supervisor = createSupervisor({
    command: {
      launcher: platform.launcher,
      ...findFirmware(),
      storeDirectory: platform.settings.dataDirectory,
      heapMegabytes: platform.heapMegabytes,
    },
    lock: platform.lock,
    startMessage: () => {
      wasLocked = false
      terminal.silence()
      const deviceKey = platform.deviceKey()
      if ('problem' in deviceKey) terminal.print(`The device key cannot be used: ${deviceKey.problem}.`)
      return { type: 'start', settings: platform.settings, deviceKey: 'key' in deviceKey ? deviceKey.key : null }
    },
    onMessage: hear,
    onCrash: (explanation) => {
      terminal.release()
      terminal.print(explanation)
    },
    onLine: terminal.print,
  })

  function hear(message: ToBoot): void {
    if (ending) return
    switch (message.type) {
      case 'listening':
        address = `https://${message.address.includes(':') ? `[${message.address}]` : message.address}:${message.port}`
        break
      case 'state':
        enter(message)
        break
      case 'unlockResult':
        if (message.result === 'wrong') askAgain('Wrong passphrase.')
        else if (message.result === 'tooManyAttempts') askAgain('Too many attempts: wait a second before the next one.')
        else if (message.result === 'failed') askAgain(`The unlock failed: ${message.message ?? 'no reason given'}.`)
        break // otherwise a state message takes the prompt away
      case 'refused':
        terminal.print(`Coffer does not start: ${message.reason}.`)
        end(1)
        break
      case 'request':
        perform(message.action)
        break
      case 'pong':
        break
    }
  }

  function enter({ state, reason }: Extract<ToBoot, { type: 'state' }>): void {
    if (state === 'Locked' && terminal.canAsk()) {
      terminal.release()
      terminal.print(`${PRODUCT.product}\nVersion ${PRODUCT.version}\n${address}`)
      terminal.ask()
    } else {
      terminal.release()
      const start = state === 'Operational' && !wasLocked ? 'started unattended, ' : ''
      const why = state === 'Failed' ? `: ${reason ?? 'no reason given'}` : ''
      const next = state === 'Locked' ? ', waiting for the passphrase at /api/v1/unlock' : ''
      terminal.print(`${PRODUCT.product} ${PRODUCT.version} at ${address}: ${start}${state}${why}${next}`)
    }
    wasLocked ||= state === 'Locked' || state === 'Unprovisioned'
  }

  function askAgain(notice: string): void {
    terminal.print(notice)
    terminal.ask()
  }

  async function perform(action: Action): Promise<void> {
    await supervisor.stop()
    if (ending) return
    if (platform.perform(action) === 'start') supervisor.start()
    else end(0)
  }

  async function end(exitCode: number): Promise<void> {
    if (ending) return
    ending = true
    terminal.release()
    const clean = await supervisor.stop()
    if (!clean) terminal.print('The firmware did not stop in time and was killed.')
    process.exit(clean ? exitCode : 1)
  }

  process.on('SIGINT', () => end(0))
  process.on('SIGTERM', () => end(0))
  // The terminal was closed. Without one the signal keeps its meaning, so that nohup(1) works.
  if (process.stdin.isTTY) process.on('SIGHUP', () => end(0))
  supervisor.start()
}

/** The bundle has the firmware beside the boot manager; in development it runs from its sources. */
function findFirmware(): { program: string; readable: string[] } {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url))
  if (import.meta.url.endsWith('.js')) return { program: path('./firmware.js'), readable: [path('./')] }
  return {
    program: path('../firmware/main.ts'),
    readable: [
      path('../firmware/'),
      path('../boot/'),
      path('../node_modules/'),
      path('../package.json'),
      '/proc/self/maps', // where better-sqlite3 looks which of its binaries fits; the bundle has it decided
    ],
  }
}
