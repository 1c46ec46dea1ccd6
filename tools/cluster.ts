/**
 * Three appliances on this computer, to be made one cluster: each has an address, a data directory and, once it is asked to
 * be in a cluster, an etcd of its own. https://127.0.0.1:8443, https://127.0.0.2:8443, https://127.0.0.3:8443
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { portConflict } from '../boot/etcd/port-owner.ts'

const USAGE = `usage: node tools/cluster.ts [--network 127.0.0] [--program dist/boot.js] DIRECTORY

  DIRECTORY  keeps the three data directories between runs
  --network  the first three numbers of their addresses`
const NODES = [1, 2, 3]
const PEER_PORT = 2380 // of the addresses that firmware/cluster/README.md gives the members
const PASSAGE = 0o711 // to what each closes by itself: root's run as users of their own
const NETWORK = /^127\.\d{1,3}\.\d{1,3}$/

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      network: { type: 'string', default: '127.0.0' },
      program: { type: 'string', default: join(import.meta.dirname, '../dist/boot.js') },
    },
  })
  const [directory] = positionals
  if (!directory || positionals.length > 1 || !NETWORK.test(values.network)) return complain(USAGE)
  const etcd = process.env.COFFER_ETCD ?? findEtcd()
  if (etcd === undefined)
    return complain('There is no etcd here: install it (Debian: etcd-server), or name its program in COFFER_ETCD.')
  for (const number of NODES) {
    const conflict = portConflict(`${values.network}.${number}`, PEER_PORT)
    if (conflict !== null) return complain(`The etcd of appliance ${number} cannot listen: ${conflict}`)
  }

  mkdirSync(directory, { recursive: true, mode: PASSAGE })
  const nodes = NODES.map((number) =>
    startNode(number, values.program, {
      ...process.env,
      COFFER_DATA: join(resolve(directory), String(number)),
      COFFER_HOST: `${values.network}.${number}`,
      COFFER_ETCD: etcd,
    }),
  )
  // From a terminal they are interrupted as we are. We go last, with the first status that is not that of a clean end.
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      for (const { child } of nodes) child.kill(signal)
    })
  const statuses = await Promise.all(nodes.map(({ ended }) => ended))
  return statuses.find((status) => status !== 0) ?? 0
}

interface Node {
  child: ChildProcess
  ended: Promise<number>
}

function startNode(number: number, program: string, environment: NodeJS.ProcessEnv): Node {
  const child = spawn(process.execPath, [program], { env: environment, stdio: ['ignore', 'pipe', 'pipe'] })
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => console.log(`${number}  ${line}`))
  const ended = new Promise<number>((resolve) => {
    child.on('error', (error) => console.log(`${number}  ${error.message}`))
    child.on('close', (code) => resolve(code ?? 1))
  })
  return { child, ended }
}

/** Debian's is in the path of every user. */
const findEtcd = (): string | undefined =>
  (process.env.PATH ?? '')
    .split(delimiter)
    .map((place) => join(place, 'etcd'))
    .find(existsSync)

function complain(text: string): number {
  console.error(text)
  return 1
}

process.exitCode = await main()
