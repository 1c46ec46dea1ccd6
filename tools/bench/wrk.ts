/**
 * Load by wrk: a program in C that keeps its TLS connections and costs a fraction of what it measures. Its latencies are
 * corrected for requests that were not made while an answer was late, so one pause shows in p99 as often as it lasted.
 */

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Address, createClient, expectSuccess, OPERATOR, type SigningKey, signRequest } from './harness.ts'

export interface Load {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  requests: number
}

const WARM_UP_CONNECTIONS = 16
const WARM_UP_SECONDS = 2
const WARM_UPS_MAX = 15
const WARM_UPS_LEVEL = 3 // without a gain, one after the other
const GAIN = 1.05
const ATTEMPTS_MAX = 3 // a computer that others use may stand still for as long as a load lasts

/** Load that nobody measures, until it does not get faster: the runtime compiles for seconds what is used most. */
export async function warmUp(server: Address, key: SigningKey, directory: string): Promise<void> {
  let best = 0
  let level = 0
  for (let i = 0; i < WARM_UPS_MAX && level < WARM_UPS_LEVEL; i++) {
    const { requestsPerSecond } = await load(server, key, WARM_UP_CONNECTIONS, WARM_UP_SECONDS, directory)
    level = requestsPerSecond > best * GAIN ? 0 : level + 1
    best = Math.max(best, requestsPerSecond)
  }
}

/** Has each of `connections` ask for one signature after the other. Throws when one is refused, or none answered. */
export async function load(
  server: Address,
  key: SigningKey,
  connections: number,
  seconds: number,
  directory: string,
): Promise<Load> {
  await askOnce(server, key) // behind what clients that went away have left
  const script = join(directory, `${key.id}.lua`)
  writeFileSync(script, scriptFor(key))
  const parameters = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script]
  for (let attempt = 1; ; attempt++) {
    const output = await run('wrk', [...parameters, `https://${server.host ?? '127.0.0.1'}:${server.port}`])
    const [, numbers, errors] = /^RESULT ([\d ]+); (.*)$/m.exec(output) ?? []
    if (numbers === undefined) throw new Error(`wrk said: ${output}`)
    const [requests, durationUs, p50Us, p99Us] = numbers.split(' ').map(Number) as [number, number, number, number]
    if (errors === '' && requests > 0)
      return { requestsPerSecond: (requests * 1e6) / durationUs, p50Ms: p50Us / 1000, p99Ms: p99Us / 1000, requests }
    if (errors === '' && attempt < ATTEMPTS_MAX) continue
    const problem = errors || `no answer in ${attempt} times ${seconds} s`
    throw new Error(
      `${key.name}, ${connections} connections: ${problem}, ${requests} answers; ${await nowSays(server, key)}`,
    )
  }
}

async function askOnce(server: Address, key: SigningKey): Promise<void> {
  const { call, close } = createClient(server, 1)
  try {
    await expectSuccess(call('POST', `/keys/${key.id}/sign`, OPERATOR, signRequest(key)))
  } finally {
    close()
  }
}

/** wrk keeps no answers: what is wrong, one more request may tell. */
async function nowSays(server: Address, key: SigningKey): Promise<string> {
  const startedMs = performance.now()
  try {
    await askOnce(server, key)
    return `asked again, it answers within ${(performance.now() - startedMs).toFixed(0)} ms`
  } catch (error) {
    return `asked again: ${(error as Error).message}`
  }
}

const scriptFor = (key: SigningKey): string => `
wrk.method = "POST"
wrk.path = "/api/v1/keys/${key.id}/sign"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Basic ${Buffer.from(OPERATOR).toString('base64')}"
wrk.body = '${JSON.stringify(signRequest(key))}'
done = function(summary, latency)
  local failed = {}
  for _, kind in ipairs({"connect", "read", "write", "status", "timeout"}) do
    local count = summary.errors[kind]
    if count > 0 then failed[#failed + 1] = kind .. " errors: " .. count end
  end
  io.write(string.format("RESULT %d %d %d %d; %s\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), table.concat(failed, ", ")))
end
`

function run(program: string, parameters: readonly string[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, parameters, { stdio: ['ignore', 'pipe', 'inherit'] })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.once('error', reject)
    child.once('close', () => resolve(output))
  })
}
