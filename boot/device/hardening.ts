/** Kernel settings that disable features an appliance never needs. Linux: Documentation/admin-guide/sysctl. */

import { readdirSync, writeFileSync } from 'node:fs'

const SETTINGS: readonly [name: string, value: string][] = [
  ['kernel/kptr_restrict', '2'],
  ['kernel/dmesg_restrict', '1'],
  ['kernel/sysrq', '0'], // a break on the serial line must not be a command
  ['kernel/kexec_load_disabled', '1'],
  ['kernel/unprivileged_bpf_disabled', '1'],
  ['kernel/unprivileged_userns_clone', '0'], // specific to Debian
  ['kernel/perf_event_paranoid', '3'], // specific to Debian: denied to all ordinary users
  ['kernel/yama/ptrace_scope', '3'],
  ['kernel/io_uring_disabled', '2'],
  // No program of the image may write its memory to disk.
  ['kernel/core_pattern', '|/bin/false'],
  ['fs/suid_dumpable', '0'],
  ['fs/protected_hardlinks', '1'],
  ['fs/protected_symlinks', '1'],
  ['fs/protected_fifos', '2'],
  ['fs/protected_regular', '2'],
  ['user/max_user_namespaces', '0'],
  ['vm/unprivileged_userfaultfd', '0'],
  ['net/core/bpf_jit_harden', '2'],
  ['net/ipv4/ip_forward', '0'],
  ['net/ipv4/tcp_syncookies', '1'],
  ['net/ipv4/tcp_rfc1337', '1'],
  ['net/ipv4/icmp_echo_ignore_broadcasts', '1'],
]

/** For all interfaces, including later ones. */
const INTERFACE_SETTINGS: readonly [name: string, value: string][] = [
  ['ipv4/conf/*/rp_filter', '1'],
  ['ipv4/conf/*/accept_redirects', '0'],
  ['ipv4/conf/*/send_redirects', '0'],
  ['ipv4/conf/*/accept_source_route', '0'],
  ['ipv6/conf/*/accept_redirects', '0'],
  ['ipv6/conf/*/accept_source_route', '0'],
  // Addresses come from the configuration only.
  ['ipv6/conf/*/accept_ra', '0'],
  ['ipv6/conf/*/autoconf', '0'],
  ['ipv6/conf/*/disable_ipv6', '1'],
]

/** Disables loading of modules until the next start. The kernel has all modules of the device by now. */
const LAST: [name: string, value: string] = ['kernel/modules_disabled', '1']

/** Skips settings that this kernel does not have. */
export function hardenKernel(sysctls = '/proc/sys'): void {
  const perInterface = INTERFACE_SETTINGS.flatMap(([pattern, value]) =>
    interfacesOf(`${sysctls}/net/${pattern.slice(0, pattern.indexOf('/*'))}`).map((name): [string, string] => [
      `net/${pattern.replace('*', name)}`,
      value,
    ]),
  )
  for (const [name, value] of [...SETTINGS, ...perInterface, LAST]) setKernel(`${sysctls}/${name}`, value)
}

/** Includes `all` and `default`, but not the loopback interface, which needs no hardening and keeps ::1. */
function interfacesOf(directory: string): string[] {
  try {
    return readdirSync(directory).filter((name) => name !== 'lo')
  } catch {
    return []
  }
}

export function setKernel(path: string, value: string): void {
  try {
    writeFileSync(path, value, { flag: 'r+' })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Missing, or already set, in case of settings that can only be tightened.
    if (code !== 'ENOENT' && code !== 'EPERM' && code !== 'EINVAL') throw error
  }
}
