/** The audit log: reading, following, exporting and verifying it. */

import { createReadStream } from 'node:fs'
import { defined } from '../../../firmware/base/defined.ts'
import type { AuditLine } from '../../../firmware/client/audit-lines.ts'
import type { AuditFilter } from '../../../firmware/client/types.ts'
import { collectLines } from '../collected-lines.ts'
import type { Command, OptionValues } from '../command.ts'
import type { CommandContext } from '../context.ts'
import { EXIT, Failure, usage } from '../failure.ts'
import { counted, createProgress, writeWhole } from '../files.ts'
import { plain } from '../output.ts'

const roles = ['Administrator'] as const
const FOLLOW_MS = 1000
const PAGE_LINES = 1000

export const AUDIT: Command[] = [
  {
    words: 'audit',
    summary: 'Show the newest lines of the audit log, oldest first.',
    roles,
    options: {
      follow: { summary: 'new lines as they are written' },
      limit: { value: 'NUMBER', summary: 'number of lines; default: 20' },
      by: { value: 'USER', summary: 'only lines of this user' },
      action: { value: 'TEXT', summary: 'only lines whose action contains this' },
      key: { value: 'KEY', summary: 'only lines about this key' },
      from: { value: 'TIME', summary: 'only lines from this time on' },
      to: { value: 'TIME', summary: 'only lines up to this time' },
    },
    example: 'coffer audit --key web-key',
    run: show,
  },
  {
    words: 'audit export',
    summary: 'Print or write the whole audit log as JSON lines, with its signed head at the end.',
    roles,
    options: { output: { value: 'FILE', summary: 'output file; default: stdout' } },
    example: 'coffer audit export --output log.jsonl',
    run: async ({ client, output, signal }, input) => {
      const file = input.text('output')
      const answer = await client().auditExport({ signal })
      if (file === undefined) {
        for await (const piece of counted(defined(answer.body), () => {})) output.raw(piece)
        return
      }
      const progress = createProgress(file)
      await writeWhole(file, counted(defined(answer.body), progress.at), signal)
      progress.end()
    },
  },
  {
    words: 'audit verify',
    arguments: 'FILE',
    summary: 'Verify an exported audit log on this computer: no line is changed, missing or out of order.',
    options: {
      key: { value: 'KEY', summary: 'key of the appliance, noted earlier (64 hex digits)' },
      collected: { summary: 'FILE is from a log server: lines repeat, are out of order, and reach further back' },
      known: { value: 'NUMBER:HASH', many: true, summary: 'number and hash of a line, noted earlier' },
    },
    example: 'coffer audit verify log.jsonl',
    run: verify,
  },
]

async function show({ client, output, signal }: CommandContext, input: OptionValues): Promise<void> {
  const texts = ['by', 'action', 'key', 'from', 'to'].map(
    (name) => [name === 'by' ? 'user' : name, input.text(name)] as const,
  )
  const filter = Object.fromEntries(texts.filter(([, value]) => value !== undefined)) as AuditFilter
  const api = client()
  const page = await api.audit({ ...filter, limit: input.number('limit') ?? 20 })
  const isJson = input.flag('json')
  if (isJson && !input.flag('follow')) return output.result(page)
  const print = (lines: AuditLine[]) => {
    for (const line of lines) output.raw(Buffer.from(`${isJson ? JSON.stringify(line) : sentence(line)}\n`))
  }
  print(page.lines.toReversed())
  let last = page.head.sequence
  const { setTimeout } = await import('node:timers/promises')
  while (input.flag('follow')) {
    await setTimeout(FOLLOW_MS, undefined, { signal })
    const fresh: AuditLine[] = []
    const newest = await api.audit({ ...filter, limit: PAGE_LINES })
    for (let found = newest; ; ) {
      fresh.push(...found.lines.filter(({ sequence }) => sequence > last))
      const { next, lines } = found
      if (next === undefined || (lines.at(-1)?.sequence ?? 0) <= last || next <= last) break
      found = await api.audit({ ...filter, limit: PAGE_LINES, before: next })
    }
    print(fresh.reverse())
    last = newest.head.sequence
  }
}

function sentence({ sequence, time, user, address, action, namespace, result, facts }: AuditLine): string {
  const more = Object.entries(facts ?? {}).map(([name, value]) => `${name}=${value}`)
  const who = namespace && !user.includes('~') ? `${namespace}~${user}` : user || '-'
  return plain([sequence, time, who, address, action, result, ...more].join('  '))
}

async function verify({ output }: CommandContext, given: OptionValues): Promise<void> {
  const key = given.text('key')
  if (key !== undefined && !/^[0-9a-f]{64}$/.test(key)) throw usage(`--key: not 64 hex digits: ${key}`)
  const known = new Map(given.list('known').map(noted))
  const { verifyExport } = await import('../../../firmware/client/audit-verify.ts')
  const isCollected = given.flag('collected')
  const input = isCollected ? await collectLines(given.argument(0), key) : await openInput(given.argument(0))
  const verdict = await verifyExport(input, { known, isCollected, ...(key !== undefined && { key }) })
  const { problems, notes, head, lines, overwritten } = verdict
  for (const note of notes) output.note(note)
  if (problems.length > 0) throw new Failure(EXIT.refused, problems.join('\n  '))
  const between = overwritten === 0 ? '' : ` (${overwritten} between them were overwritten)`
  const { first, sequence, time, key: signedWith } = defined(head)
  output.result(
    verdict,
    () =>
      `${lines} lines, ${first} to ${sequence}${between}: nothing changed, missing or reordered.\nSigned ${time} with key ${signedWith}.`,
    () => 'good',
  )
  if (key === undefined)
    output.note('The key is the one in the file: compare it with one that was noted, or give that with --key')
}

async function openInput(file: string): Promise<AsyncIterable<Uint8Array>> {
  const input = createReadStream(file)
  await new Promise((done, fail) => input.once('open', done).once('error', fail))
  return input
}

function noted(text: string): [number, string] {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw usage(`--known: not NUMBER:HASH: ${text}`)
  const [, number, hash = ''] = match
  return [Number(number), hash]
}
