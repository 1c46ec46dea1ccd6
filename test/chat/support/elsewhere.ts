/**
 * Another computer for outgoing requests: a network namespace that is joined to this one. Names are in a file of hosts that only the
 * tested Coffer sees. It needs root, in a container that allows it.
 */

import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Ending, makeDataDirectory } from '../../support/process.ts'

/** Another computer: the name of its network namespace, and the addresses by which this computer and it reach each other. */
export interface Elsewhere {
  readonly namespace: string
  readonly here: string
  readonly there: string
}

const NETWORKS = 64

/** Puts another file in the place of one, for a program and nobody else. */
const OVER_HOSTS = 'mount --bind "$0" /etc/hosts && exec "$@"'

export const NO_NAMESPACES = 'only root makes namespaces of networks and mounts, and not in every container'

const mayMount = (): boolean =>
  spawnSync('unshare', ['--mount', 'sh', '-c', OVER_HOSTS, '/etc/hosts', 'true'], { stdio: 'ignore' }).status === 0

/**
 * A network namespace that is joined to this one by a pair of interfaces; null where none may be made. Each has a network of its own,
 * since tests run beside each other: two with the same addresses would reach each other's computer.
 */
export function makeElsewhere(t: Ending): Elsewhere | null {
  if (!mayMount()) return null
  const number = makeNamespace(t)
  if (number === null) return null
  const namespace = nameOf(number)
  // RFC 5737; machines of CI have been seen with those of 192.0.2.0/24.
  const [here, there] = [`198.51.100.${4 * number + 1}`, `198.51.100.${4 * number + 2}`]
  const [near, far] = [`coffer${number}a`, `coffer${number}b`]
  const made = spawnSync('ip', ['link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', namespace])
  if (made.status !== 0) return null
  const ip = (...parameters: string[]) => execFileSync('ip', parameters, { stdio: 'pipe' })
  ip('address', 'add', `${here}/30`, 'dev', near)
  ip('link', 'set', near, 'up')
  ip('-n', namespace, 'address', 'add', `${there}/30`, 'dev', far)
  ip('-n', namespace, 'link', 'set', far, 'up')
  return { namespace, here, there }
}

const nameOf = (number: number): string => `coffer-test-${number}`

/** Makes the first namespace that nobody has, and returns its number: the kernel gives a name to one of those who ask for it. */
function makeNamespace(t: Ending): number | null {
  for (let number = 0; number < NETWORKS; number++) {
    const { status, stderr } = spawnSync('ip', ['netns', 'add', nameOf(number)], { encoding: 'utf8' })
    if (status === 0) {
      t.after(() => spawnSync('ip', ['netns', 'delete', nameOf(number)])) // and with it the pair
      return number
    }
    if (!stderr.includes('File exists')) return null
  }
  throw new Error(`All ${NETWORKS} networks are in use: see ip netns list`)
}

/** Runs a program of Node there, which prints `listening` and then a line of JSON for each request. */
export async function listenThere(t: Ending, { namespace }: Elsewhere, program: string) {
  const child = spawn('ip', ['netns', 'exec', namespace, process.execPath, '-e', program], { stdio: 'pipe' })
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  while (!output.includes('listening')) await once(child.stdout, 'data')
  return {
    heard: () =>
      output
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((line) => JSON.parse(line)),
  }
}

/** The words before a program for which the names lead to the addresses. */
export function withNames(t: Ending, names: Readonly<Record<string, readonly string[]>>): string[] {
  const hosts = join(makeDataDirectory(t), 'hosts')
  const lines = Object.entries(names).flatMap(([name, addresses]) => addresses.map((address) => `${address} ${name}`))
  writeFileSync(hosts, `127.0.0.1 localhost\n${lines.join('\n')}\n`, { mode: 0o644 })
  return ['unshare', '--mount', 'sh', '-c', OVER_HOSTS, hosts]
}
