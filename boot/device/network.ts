/** Network address of the device, static as configured: contract section 4.7. */

import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { Network } from '../../firmware/channel/protocol.ts'
import { setKernel } from './hardening.ts'
import { BUSYBOX, mustRunNow, ProgramError } from './system/programs.ts'

const ETHERNET = '1' // ARPHRD_ETHER, linux/if_arp.h
const ANSWER_MS = 500 // time for the answer to the change, which is sent from the old address
const NO_GATEWAY = '0.0.0.0'

export interface NetworkInterface {
  /** Applies the first address at once, later ones after the answer to the change has been sent. */
  apply(network: Network): void
}

interface NetworkOptions {
  say: (text: string) => void
  ip?: (parameters: readonly string[]) => void
  sysfs?: string
  sysctls?: string
}

export function createNetwork({
  say,
  ip = (parameters) => mustRunNow(BUSYBOX, ['ip', ...parameters]),
  sysfs = '/sys',
  sysctls = '/proc/sys',
}: NetworkOptions): NetworkInterface {
  let applied: string | null = null
  let pending: NodeJS.Timeout | undefined

  const attempt = (what: string, parameters: readonly string[]) => {
    try {
      ip(parameters)
    } catch (error) {
      if (!(error instanceof ProgramError)) throw error
      say(`Cannot set ${what}: ${error.message}.`)
    }
  }

  const applyNow = (network: Network) => {
    const name = findInterface(sysfs)
    if (name === null) return say('No network interface.')
    attempt('the loopback address', ['link', 'set', 'lo', 'up'])
    attempt('the address', ['addr', 'flush', 'dev', name])
    setKernel(`${sysctls}/net/ipv6/conf/${name}/disable_ipv6`, network.ipv6 === undefined ? '1' : '0')
    const { ipAddress, netmask, gateway, ipv6 } = network
    attempt(`the address ${ipAddress}`, [
      'addr',
      'add',
      `${ipAddress}/${prefixOf(netmask)}`,
      'broadcast',
      '+',
      'dev',
      name,
    ])
    attempt('the interface', ['link', 'set', name, 'up'])
    if (gateway !== NO_GATEWAY)
      attempt(`the gateway ${gateway}`, ['route', 'add', 'default', 'via', gateway, 'dev', name])
    if (ipv6 === undefined) return
    attempt(`the address ${ipv6.cidr}`, ['-6', 'addr', 'add', ipv6.cidr, 'dev', name])
    if (ipv6.gateway !== null)
      attempt(`the gateway ${ipv6.gateway}`, ['-6', 'route', 'add', 'default', 'via', ipv6.gateway, 'dev', name])
  }

  return {
    apply: (network) => {
      const text = JSON.stringify(network)
      clearTimeout(pending)
      if (text === applied) return
      if (applied === null) applyNow(network)
      else pending = setTimeout(() => applyNow(network), ANSWER_MS)
      applied = text
    },
  }
}

/** The first hardware Ethernet interface, in the kernel's order. */
function findInterface(sysfs: string): string | null {
  const directory = `${sysfs}/class/net`
  const names = readdirSync(directory).filter(
    (name) =>
      existsSync(`${directory}/${name}/device`) &&
      readFileSync(`${directory}/${name}/type`, 'utf8').trim() === ETHERNET,
  )
  return names.sort((a, b) => indexOf(a) - indexOf(b))[0] ?? null

  function indexOf(name: string): number {
    return Number(readFileSync(`${directory}/${name}/ifindex`, 'utf8'))
  }
}

/** Prefix length of a contiguous netmask. */
const prefixOf = (netmask: string): number =>
  netmask.split('.').reduce((bits, byte) => bits + Number(byte).toString(2).replaceAll('0', '').length, 0)
