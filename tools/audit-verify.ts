/**
 * Verifies an exported audit log without the appliance: finds lines that were changed, left out, added or reordered.
 * What it checks is in firmware/client/audit-verify.ts.
 */

import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { type Expectations, verifyExport } from '../firmware/client/audit-verify.ts'

const HELP = `Verifies an exported audit log.

  node tools/audit-verify.ts FILE [--key KEY] [--known NUMBER:HASH]...

FILE is what GET /api/v1/audit/export gave. Every line of it carries a SHA-256 hash over the line, the hash of the line
before and that of the line of its kind before, so a changed, missing or reordered line breaks a chain. That needs no
secret; who can edit the file can also compute the whole chain anew. What cannot be forged is its end: the appliance
signs number and hash of the newest line, of each kind, too, and the number of the oldest that it keeps.

Changes, refusals and uses of keys each have a ring of their own. Lines that are missing because their ring has
overwritten them are counted; any other that is missing is a problem.

  --key KEY            the appliance's public key (head.key of GET /api/v1/audit, noted once). Without it the signature
                       is checked with the key in the file, which shows nothing to those who do not know that key.
  --known NUMBER:HASH  a line noted earlier, e.g. sequence and hash of an older head: the file must hold just that line,
                       or tell that it was overwritten. Shows that the log was not put back and written anew since.

Exit status: 0 when everything holds, 1 when something does not, 2 when the command is wrong.`

async function main(): Promise<number> {
  const { file, expectations } = readArguments()
  if (file === undefined) return 2
  const texts = createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })
  const { problems, notes, head, lines, overwritten } = await verifyExport(texts, expectations)
  for (const sentence of [...problems, ...notes]) console.log(sentence)
  if (problems.length > 0) return 1
  const between = overwritten === 0 ? '' : ` (${overwritten} between them were overwritten)`
  console.log(`${lines} lines, ${head!.first} to ${head!.sequence}${between}, nothing changed, missing or reordered.`)
  console.log(`Signed ${head!.time} with key ${head!.key}.`)
  if (expectations.key === undefined)
    console.log('Compare the key with head.key of GET /api/v1/audit, or give it with --key.')
  return 0
}

function readArguments(): { file?: string; expectations: Expectations } {
  try {
    const { positionals, values } = parseArgs({
      allowPositionals: true,
      options: { key: { type: 'string' }, known: { type: 'string', multiple: true }, help: { type: 'boolean' } },
    })
    const known = new Map((values.known ?? []).map(readKnown))
    const { key } = values
    if (key !== undefined && !/^[0-9a-f]{64}$/.test(key)) throw new Error(`--key: not 64 hex digits: ${key}`)
    if (positionals.length !== 1 || values.help) throw new Error(HELP)
    return { file: positionals[0]!, expectations: { known, ...(key !== undefined && { key }) } }
  } catch (error) {
    console.error((error as Error).message)
    return { expectations: {} }
  }
}

function readKnown(text: string): [number, string] {
  const match = /^(\d{1,15}):([0-9a-f]{64})$/.exec(text)
  if (match === null) throw new Error(`--known: not NUMBER:HASH: ${text}`)
  return [Number(match[1]), match[2]!]
}

if (import.meta.main) process.exitCode = await main()
