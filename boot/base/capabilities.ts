/** Options of setpriv(1) for the capabilities of a process that the boot manager starts: none, but for ports below 1024. */
export function capabilityOptions(bindsReservedPorts: boolean): string[] {
  if (!bindsReservedPorts) return ['--bounding-set=-all', '--inh-caps=-all']
  const only = '-all,+net_bind_service'
  // Only ambient capabilities stay when an unprivileged user executes a program: capabilities(7).
  return [`--bounding-set=${only}`, `--inh-caps=${only}`, `--ambient-caps=${only}`]
}
