/** Load by wrk: a program in C that keeps its TLS connections and costs a fraction of what it measures. */

import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type BenchKey, OPERATOR, signRequest } from './rig.ts'

export interface Load {
  requestsPerSecond: number
  p50Ms: number
  p99Ms: number
  requests: number
}

/** Has each of `connections` ask for one signature after the other. Throws when one is refused. */
export async function load(
  port: number,
  key: BenchKey,
  connections: number,
  seconds: number,
  directory: string,
): Promise<Load> {
  const script = join(directory, `${key.id}.lua`)
  writeFileSync(script, scriptFor(key))
  const parameters = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script]
  const output = await run('wrk', [...parameters, `https://127.0.0.1:${port}`])
  const numbers = /^RESULT (.*)$/m.exec(output)?.[1]?.split(' ').map(Number)
  if (numbers === undefined) throw new Error(`wrk said: ${output}`)
  const [requests, durationUs, p50Us, p99Us, errors] = numbers as [number, number, number, number, number]
  if (errors > 0 || requests === 0) throw new Error(`${errors} of ${requests} requests failed`)
  return { requestsPerSecond: (requests * 1e6) / durationUs, p50Ms: p50Us / 1000, p99Ms: p99Us / 1000, requests }
}

const scriptFor = (key: BenchKey): string => `
wrk.method = "POST"
wrk.path = "/api/v1/keys/${key.id}/sign"
wrk.headers["content-type"] = "application/json"
wrk.headers["authorization"] = "Basic ${Buffer.from(OPERATOR).toString('base64')}"
wrk.body = '${JSON.stringify(signRequest(key))}'
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, latency:percentile(50),
    latency:percentile(99), e.connect + e.read + e.write + e.status + e.timeout))
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
