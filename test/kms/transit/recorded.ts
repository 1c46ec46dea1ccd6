/** The recorded questions of the shared vectors, asked of any server, and their recorded answers. */

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const root = process.env.COFFER_VECTORS ?? new URL('../../../../shared/vectors', import.meta.url).pathname
export const DIRECTORY = join(root, 'transit')

/** In CI they must be there. */
export const skip = !existsSync(DIRECTORY) && process.env.CI !== 'true' && 'to run this: the shared vectors'

export interface Case {
  name: string
  as?: string
  method: string
  path: string
  /** A text is sent as it is. */
  body?: unknown
  headers?: Record<string, string>
  save?: Record<string, string>
  statusOnly?: boolean
}

export interface Recorded {
  name: string
  status: number
  body: unknown
}

interface Difference {
  name: string
  status: number
  errors?: string[]
  why: string
}

const read = <T>(name: string): T => JSON.parse(readFileSync(join(DIRECTORY, name), 'utf8')) as T

export const cases = (): Case[] => read('cases.json')
export const answers = (): Map<string, Recorded> =>
  new Map(read<Recorded[]>('answers.json').map((answer) => [answer.name, answer]))
export const differences = (): Map<string, Difference> =>
  new Map(read<Difference[]>('differences.json').map((difference) => [difference.name, difference]))

export type Ask = (
  method: string,
  path: string,
  options: { headers: Record<string, string>; body?: string },
) => Promise<{ status: number; body: unknown }>

/** Asks one case after another, with the tokens and ciphertexts that earlier answers gave. */
export class Conversation {
  readonly #saved = new Map<string, string>()
  readonly #ask: Ask

  constructor(ask: Ask) {
    this.#ask = ask
  }

  async answer({ as, method, path, body, headers = {}, save = {} }: Case): Promise<{ status: number; body: unknown }> {
    const token = as === undefined ? undefined : (this.#saved.get(as) ?? as)
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    const filled = text?.replace(/\$\{(\w+)\}/g, (_, name: string) => this.#saved.get(name) ?? `no ${name}`)
    const answer = await this.#ask(method, `/v1/${path}`, {
      headers: { ...(token !== undefined && { 'x-vault-token': token }), ...headers },
      ...(filled !== undefined && { body: filled }),
    })
    for (const [name, place] of Object.entries(save)) {
      const value = place.split('.').reduce((at, member) => (at as Record<string, unknown>)?.[member], answer.body)
      if (typeof value === 'string') this.#saved.set(name, value)
    }
    return answer
  }
}

const FORMS: readonly [placeholder: RegExp, form: string][] = [
  [/<uuid>/g, '[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}'],
  [/<token>/g, 's\\.[\\w-]+'],
  [/<accessor>/g, '[\\w-]{16,}'],
  [/<time>/g, '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d(\\.\\d+)?Z'],
  [/<vault:v(\d+):\.\.\.>/g, 'vault:v$1:[A-Za-z0-9+/_=-]+'],
  [/<pem public key>/g, '-----BEGIN PUBLIC KEY-----\\n[A-Za-z0-9+/=\\n]+-----END PUBLIC KEY-----\\n?'],
  [/<(version|storage_type|cluster_name)>/g, '[\\w.+-]+'],
  [/<(\d+) characters>/g, '.{$1}'],
]
const NUMBERS = new Set(['<seconds>', '<duration>'])

/** Throws unless the answer has the members and values of the recorded one, whose placeholders stand for a form. */
export function expectForm(actual: unknown, recorded: unknown, at = ''): void {
  if (typeof recorded === 'string' && NUMBERS.has(recorded)) {
    assert.ok(Number.isSafeInteger(actual) && (actual as number) > 0, `${at}: ${String(actual)}`)
    return
  }
  if (typeof recorded === 'string' && /<.*>/.test(recorded)) {
    assert.equal(typeof actual, 'string', at)
    const bytes = /^<base64 of (\d+) bytes>$/.exec(recorded)?.[1]
    if (bytes !== undefined) {
      assert.equal(Buffer.from(actual as string, 'base64').length, Number(bytes), at)
      return
    }
    const form = FORMS.reduce((text, [placeholder, pattern]) => text.replace(placeholder, pattern), recorded)
    assert.match(actual as string, new RegExp(`^${form}$`), at)
    return
  }
  if (typeof recorded !== 'object' || recorded === null) {
    assert.deepEqual(actual, recorded, at)
    return
  }
  assert.equal(typeof actual, 'object', at)
  assert.deepEqual(Object.keys(actual as object).sort(), Object.keys(recorded).sort(), at)
  for (const [name, value] of Object.entries(recorded))
    expectForm((actual as Record<string, unknown>)[name], value, `${at}.${name}`)
}
